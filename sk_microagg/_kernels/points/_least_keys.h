// The least of |x|² + |y|² - w - 2 x · y over chunks of records y, for several points x.
//
// Not by BLAS, whose threads would compete with those that work on other blocks. `Lanes` is one
// vector register, or a number where the compiler has no vectors.

#pragma once

#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__GNUC__)
#define SKM_INLINE inline __attribute__((always_inline))
typedef double skm_base_lanes __attribute__((vector_size(16)));
#else
#define SKM_INLINE inline
typedef double skm_base_lanes;
#endif

// On Windows, GCC does not align the stack for wider vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define SKM_HAS_WIDER_LANES
#endif

enum {
    SKM_PANEL = 8,  // records whose sums are in registers
    SKM_CHUNK = 64  // records of which the least is kept
};

struct skm_products {
    const double *factors;  // -2 y in panels, column by column
    const double *squares;  // |y|² - w
    // A row of n_columns for each point, of which the first n_used are filled: values that are not 0,
    // and their columns.
    const double *points;
    const int *columns;
    const Py_ssize_t *n_used;
    const double *own_squares;  // |x|²
    Py_ssize_t n_points, n_columns, n_chunks;
};

// Products are added without being rounded first, in one instruction: callers allow for rounding.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

template <typename Lanes> static SKM_INLINE void skm_load(Lanes &lanes, const double *from) {
    std::memcpy(&lanes, from, sizeof lanes);
}

// Several points share what is loaded; then none of them may have a 0.
template <typename Lanes, int N_POINTS>
static SKM_INLINE void skm_least_of_chunk(const skm_products &of, Py_ssize_t chunk,
                                          Py_ssize_t first, double *least) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
    constexpr int WIDTH = sizeof(Lanes) / sizeof(double), N_LANES = SKM_PANEL / WIDTH;
    constexpr int N_PANELS = SKM_CHUNK / SKM_PANEL;
    const double *points = of.points + first * of.n_columns;
    const int *columns = of.columns + first * of.n_columns;
    Lanes low[N_POINTS];
    for (int p = 0; p < N_POINTS; ++p) low[p] = Lanes{} + INFINITY;
    for (Py_ssize_t panel = N_PANELS * chunk; panel < N_PANELS * (chunk + 1); ++panel) {
        const double *factors = of.factors + panel * of.n_columns * SKM_PANEL;
        Lanes sums[N_POINTS][N_LANES];
        for (int p = 0; p < N_POINTS; ++p)
            for (int i = 0; i < N_LANES; ++i)
                skm_load(sums[p][i], of.squares + panel * SKM_PANEL + i * WIDTH);
        for (Py_ssize_t j = 0; j < of.n_used[first]; ++j) {
            const Py_ssize_t column = N_POINTS > 1 ? j : columns[j];
            for (int i = 0; i < N_LANES; ++i) {
                Lanes factor;
                skm_load(factor, factors + column * SKM_PANEL + i * WIDTH);
                for (int p = 0; p < N_POINTS; ++p)
                    sums[p][i] += points[p * of.n_columns + j] * factor;
            }
        }
        for (int p = 0; p < N_POINTS; ++p)
            for (int i = 0; i < N_LANES; ++i)
                low[p] = sums[p][i] < low[p] ? sums[p][i] : low[p];
    }
    for (int p = 0; p < N_POINTS; ++p) {
        double lanes[WIDTH];
        std::memcpy(lanes, &low[p], sizeof lanes);
        least[(first + p) * of.n_chunks + chunk] =
            *std::min_element(lanes, lanes + WIDTH) + of.own_squares[first + p];
    }
}

// The factors of a chunk stay in the nearest cache while all points meet them.
template <typename Lanes>
static SKM_INLINE void skm_least_of_all(const skm_products &of, double *least) {
    constexpr int WIDTH = sizeof(Lanes) / sizeof(double);
    // As many sums at a time as there are registers for, and as a unit needs to be busy.
    constexpr int TOGETHER = WIDTH == 8 ? 8 : WIDTH == 1 ? 1 : 4;
    for (Py_ssize_t chunk = 0; chunk < of.n_chunks; ++chunk) {
        Py_ssize_t row = 0;
        while (row < of.n_points) {
            const bool is_dense = row + TOGETHER <= of.n_points
                && std::all_of(of.n_used + row, of.n_used + row + TOGETHER,
                               [&](Py_ssize_t n_used) { return n_used == of.n_columns; });
            if (is_dense) skm_least_of_chunk<Lanes, TOGETHER>(of, chunk, row, least);
            else skm_least_of_chunk<Lanes, 1>(of, chunk, row, least);
            row += is_dense ? TOGETHER : 1;
        }
    }
}

// The widest vectors that the machine has; they may round differently.
#if defined(SKM_HAS_WIDER_LANES)
typedef double skm_four_lanes __attribute__((vector_size(32)));
typedef double skm_eight_lanes __attribute__((vector_size(64)));

__attribute__((target("avx2,fma")))
static void skm_least_by_four(const skm_products &of, double *least) {
    skm_least_of_all<skm_four_lanes>(of, least);
}

__attribute__((target("avx512f")))
static void skm_least_by_eight(const skm_products &of, double *least) {
    skm_least_of_all<skm_eight_lanes>(of, least);
}
#endif

static void skm_least_keys(const skm_products &of, double *least) {
#if defined(SKM_HAS_WIDER_LANES)
    if (__builtin_cpu_supports("avx512f")) return skm_least_by_eight(of, least);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return skm_least_by_four(of, least);
#endif
    skm_least_of_all<skm_base_lanes>(of, least);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
