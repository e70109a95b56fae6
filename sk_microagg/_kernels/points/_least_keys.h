// The least of |x|² + |y|² - w - 2 x · y over chunks of records, for several points.
//
// Not by BLAS, whose threads would compete with those that work on other blocks. `Lanes` is one
// vector register, or a number where the compiler has no vectors.

#pragma once

#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstring>

// Products are added without being rounded first, in one instruction: callers allow for rounding.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

#if defined(__GNUC__)
#define SKM_INLINE inline __attribute__((always_inline))
typedef double skm_two_lanes __attribute__((vector_size(16)));
#else
#define SKM_INLINE inline
typedef double skm_two_lanes;
#endif

struct skm_products {
    const double *factors, *squares;  // of the records, in panels of 8 and chunks of 64
    const double *points;
    const int *columns;  // that are not 0 in each point
    const Py_ssize_t *n_used;
    const double *own_squares;
    Py_ssize_t n_points, n_columns, n_chunks;
};

template <typename Lanes> static SKM_INLINE void skm_load(Lanes &lanes, const double *from) {
    std::memcpy(&lanes, from, sizeof lanes);
}

// The sums stay in registers for all columns of a panel. Several points share what is loaded;
// they must not have zeros that are left out.
template <typename Lanes, int N_POINTS>
static SKM_INLINE void skm_least_of_chunk(const skm_products &of, Py_ssize_t chunk,
                                          Py_ssize_t first, double *least) {
    constexpr int WIDTH = sizeof(Lanes) / sizeof(double), N_LANES = 8 / WIDTH;
    const double *points = of.points + first * of.n_columns;
    const int *columns = of.columns + first * of.n_columns;
    Lanes low[N_POINTS];
    for (int p = 0; p < N_POINTS; ++p) low[p] = Lanes{} + INFINITY;
    for (Py_ssize_t panel = 8 * chunk; panel < 8 * (chunk + 1); ++panel) {
        const double *factors = of.factors + panel * of.n_columns * 8;
        Lanes sums[N_POINTS][N_LANES];
        for (int p = 0; p < N_POINTS; ++p)
            for (int i = 0; i < N_LANES; ++i)
                skm_load(sums[p][i], of.squares + panel * 8 + i * WIDTH);
        for (Py_ssize_t j = 0; j < of.n_used[first]; ++j) {
            const Py_ssize_t column = N_POINTS > 1 ? j : columns[j];
            for (int i = 0; i < N_LANES; ++i) {
                Lanes factor;
                skm_load(factor, factors + column * 8 + i * WIDTH);
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
    for (Py_ssize_t chunk = 0; chunk < of.n_chunks; ++chunk) {
        Py_ssize_t row = 0;
        while (row < of.n_points) {
            const bool is_dense = row + 4 <= of.n_points
                && std::all_of(of.n_used + row, of.n_used + row + 4,
                               [&](Py_ssize_t n_used) { return n_used == of.n_columns; });
            if (is_dense) skm_least_of_chunk<Lanes, 4>(of, chunk, row, least);
            else skm_least_of_chunk<Lanes, 1>(of, chunk, row, least);
            row += is_dense ? 4 : 1;
        }
    }
}

// The widest vectors that the machine has; they may round differently.
#if defined(__x86_64__) && defined(__GNUC__)
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
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f")) return skm_least_by_eight(of, least);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return skm_least_by_four(of, least);
#endif
    skm_least_of_all<skm_two_lanes>(of, least);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
