// |y|² - w - 2 x · y for several points x and many records y, and the least over chunks of records.
//
// Not by BLAS, whose threads would compete with those that work on other blocks. `Lanes` is one
// vector register, or a number where the compiler has no vectors.

#pragma once

#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#if defined(__GNUC__)
#define SKM_INLINE inline __attribute__((always_inline))
#else
#define SKM_INLINE inline
#endif

// On Windows, GCC does not align the stack for wider vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define SKM_HAS_WIDER_LANES
#endif

enum {
    SKM_CHUNK = 64  // records of which the least is kept
};

// The vectors of a number: of 16 bytes, which every machine has, and wider ones.
template <typename Number> struct skm_lanes;

#if defined(__GNUC__)
template <> struct skm_lanes<double> {
    typedef double base __attribute__((vector_size(16)));
    typedef double wide __attribute__((vector_size(32)));
    typedef double widest __attribute__((vector_size(64)));
};
template <> struct skm_lanes<float> {
    typedef float base __attribute__((vector_size(16)));
    typedef float wide __attribute__((vector_size(32)));
    typedef float widest __attribute__((vector_size(64)));
};
#else
template <typename Number> struct skm_lanes {
    typedef Number base;
};
#endif

// Records, and a batch of points to multiply them with.
template <typename Number> struct skm_batch {
    // Records whose sums are in registers.
    static constexpr int PANEL = 64 / sizeof(Number);

    std::vector<Number> factors;  // -2 y in panels, column by column
    std::vector<Number> squares;  // |y|² - w
    // A row of n_columns for each point, of which the first n_used are filled: values that are not
    // 0, and their columns.
    std::vector<Number> points;
    std::vector<int> columns;
    std::vector<Py_ssize_t> n_used;
    Py_ssize_t n_points, n_columns, n_chunks;
};

// Products are added without being rounded first, in one instruction: callers allow for rounding.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

template <typename Lanes, typename Number>
static SKM_INLINE void skm_load(Lanes &lanes, const Number *from) {
    std::memcpy(&lanes, from, sizeof lanes);
}

// Several points share what is loaded; then none of them may have a 0.
template <typename Lanes, int N_POINTS, typename Number>
static SKM_INLINE void skm_least_of_chunk(const skm_batch<Number> &of, Py_ssize_t chunk,
                                          Py_ssize_t first, Number *least) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
    constexpr int PANEL = skm_batch<Number>::PANEL, N_PANELS = SKM_CHUNK / PANEL;
    constexpr int WIDTH = sizeof(Lanes) / sizeof(Number), N_LANES = PANEL / WIDTH;
    const Number *points = of.points.data() + first * of.n_columns;
    const int *columns = of.columns.data() + first * of.n_columns;
    const Py_ssize_t n_used = of.n_used[first];
    Lanes low[N_POINTS];
    for (int p = 0; p < N_POINTS; ++p) low[p] = Lanes{} + Number(INFINITY);
    for (Py_ssize_t panel = N_PANELS * chunk; panel < N_PANELS * (chunk + 1); ++panel) {
        const Number *factors = of.factors.data() + panel * of.n_columns * PANEL;
        Lanes sums[N_POINTS][N_LANES];
        for (int p = 0; p < N_POINTS; ++p)
            for (int i = 0; i < N_LANES; ++i)
                skm_load(sums[p][i], of.squares.data() + panel * PANEL + i * WIDTH);
        for (Py_ssize_t j = 0; j < n_used; ++j) {
            const Py_ssize_t column = N_POINTS > 1 ? j : columns[j];
            for (int i = 0; i < N_LANES; ++i) {
                Lanes factor;
                skm_load(factor, factors + column * PANEL + i * WIDTH);
                for (int p = 0; p < N_POINTS; ++p)
                    sums[p][i] += points[p * of.n_columns + j] * factor;
            }
        }
        for (int p = 0; p < N_POINTS; ++p)
            for (int i = 0; i < N_LANES; ++i)
                low[p] = sums[p][i] < low[p] ? sums[p][i] : low[p];
    }
    for (int p = 0; p < N_POINTS; ++p) {
        Number lanes[WIDTH];
        std::memcpy(lanes, &low[p], sizeof lanes);
        least[(first + p) * of.n_chunks + chunk] = *std::min_element(lanes, lanes + WIDTH);
    }
}

// The factors of a chunk stay in the nearest cache while all points meet them.
template <typename Lanes, typename Number>
static SKM_INLINE void skm_least_of_all(const skm_batch<Number> &of, Number *least) {
    // As many sums at a time as there are registers for, and as a unit needs to be busy.
    constexpr int TOGETHER = sizeof(Lanes) == 64 ? 8 : sizeof(Lanes) == sizeof(Number) ? 1 : 4;
    for (Py_ssize_t chunk = 0; chunk < of.n_chunks; ++chunk) {
        Py_ssize_t row = 0;
        while (row < of.n_points) {
            const Py_ssize_t *n_used = of.n_used.data() + row;
            const bool is_dense = row + TOGETHER <= of.n_points
                && std::all_of(n_used, n_used + TOGETHER,
                               [&](Py_ssize_t n) { return n == of.n_columns; });
            if (is_dense) skm_least_of_chunk<Lanes, TOGETHER>(of, chunk, row, least);
            else skm_least_of_chunk<Lanes, 1>(of, chunk, row, least);
            row += is_dense ? TOGETHER : 1;
        }
    }
}

// The widest vectors that the machine has; they may round differently.
#if defined(SKM_HAS_WIDER_LANES)
template <typename Number>
__attribute__((target("avx2,fma")))
static void skm_least_by_wide(const skm_batch<Number> &of, Number *least) {
    skm_least_of_all<typename skm_lanes<Number>::wide>(of, least);
}

template <typename Number>
__attribute__((target("avx512f")))
static void skm_least_by_widest(const skm_batch<Number> &of, Number *least) {
    skm_least_of_all<typename skm_lanes<Number>::widest>(of, least);
}
#endif

template <typename Number>
static void skm_least_keys(const skm_batch<Number> &of, Number *least) {
#if defined(SKM_HAS_WIDER_LANES)
    if (__builtin_cpu_supports("avx512f")) return skm_least_by_widest(of, least);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return skm_least_by_wide(of, least);
#endif
    skm_least_of_all<typename skm_lanes<Number>::base>(of, least);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

// The same for double and single precision: a table of records, and the keys of a batch of points.
class skm_key_table {
  public:
    virtual ~skm_key_table() {}
    // The columns of a point that are not 0, and their values.
    virtual void set_point(Py_ssize_t row, const double *values, const int *columns,
                           Py_ssize_t n_used) = 0;
    // The least key of each chunk, row by row.
    virtual void find_least(Py_ssize_t n_points, double *least) = 0;
    // All keys of one chunk. They may be rounded differently than the least of them was.
    virtual void find_keys(Py_ssize_t row, Py_ssize_t chunk, double *keys) const = 0;
};

// All values are multiplied by `unit`, a power of two, and all keys are divided by its square.
template <typename Number> class skm_table_of : public skm_key_table {
    static constexpr int PANEL = skm_batch<Number>::PANEL;
    skm_batch<Number> batch;
    std::vector<Number> least_of_chunks;
    double unit;
    double scale;  // of keys

  public:
    // The last chunk is filled up with NaN, which is below no limit, not even an infinite one.
    skm_table_of(const double *records, const double *squares, Py_ssize_t n_records,
                 Py_ssize_t n_columns, Py_ssize_t most_points, double unit_)
        : unit(unit_), scale(1.0 / (unit_ * unit_)) {
        batch.n_columns = n_columns;
        batch.n_chunks = (n_records + SKM_CHUNK - 1) / SKM_CHUNK;
        batch.factors.assign(batch.n_chunks * SKM_CHUNK * n_columns, Number(0));
        batch.squares.assign(batch.n_chunks * SKM_CHUNK, Number(NAN));
        for (Py_ssize_t i = 0; i < n_records; ++i) {
            Number *factors = &batch.factors[i / PANEL * PANEL * n_columns + i % PANEL];
            for (Py_ssize_t j = 0; j < n_columns; ++j)
                factors[j * PANEL] = Number(-2.0 * unit * records[i * n_columns + j]);
            batch.squares[i] = Number(unit * unit * squares[i]);
        }
        batch.points.resize(most_points * n_columns);
        batch.columns.resize(most_points * n_columns);
        batch.n_used.resize(most_points);
        least_of_chunks.resize(most_points * batch.n_chunks);
    }

    void set_point(Py_ssize_t row, const double *values, const int *columns,
                   Py_ssize_t n_used) override {
        batch.n_used[row] = n_used;
        for (Py_ssize_t j = 0; j < n_used; ++j) {
            batch.points[row * batch.n_columns + j] = Number(unit * values[j]);
            batch.columns[row * batch.n_columns + j] = columns[j];
        }
    }

    void find_least(Py_ssize_t n_points, double *least) override {
        batch.n_points = n_points;
        skm_least_keys(batch, least_of_chunks.data());
        for (Py_ssize_t i = 0; i < n_points * batch.n_chunks; ++i)
            least[i] = scale * least_of_chunks[i];
    }

    void find_keys(Py_ssize_t row, Py_ssize_t chunk, double *keys) const override {
        typedef typename skm_lanes<Number>::base Lanes;
        constexpr int WIDTH = sizeof(Lanes) / sizeof(Number), N_LANES = PANEL / WIDTH;
        const Number *values = batch.points.data() + row * batch.n_columns;
        const int *columns = batch.columns.data() + row * batch.n_columns;
        for (Py_ssize_t first = chunk * SKM_CHUNK; first < (chunk + 1) * SKM_CHUNK; first += PANEL) {
            const Number *factors = batch.factors.data() + first * batch.n_columns;
            Lanes sums[N_LANES];
            for (int i = 0; i < N_LANES; ++i)
                skm_load(sums[i], batch.squares.data() + first + i * WIDTH);
            for (Py_ssize_t j = 0; j < batch.n_used[row]; ++j)
                for (int i = 0; i < N_LANES; ++i) {
                    Lanes factor;
                    skm_load(factor, factors + columns[j] * PANEL + i * WIDTH);
                    sums[i] += values[j] * factor;
                }
            Number of_panel[PANEL];
            std::memcpy(of_panel, sums, sizeof sums);
            for (int i = 0; i < PANEL; ++i) *keys++ = scale * of_panel[i];
        }
    }
};

typedef skm_table_of<double> skm_double_table;
typedef skm_table_of<float> skm_single_table;
