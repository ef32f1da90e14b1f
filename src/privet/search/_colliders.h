/* Questions about columns, asked once, and what their answers say for colliders: the weights in
   ``pc.py``, which says what is done and why. */

#include "_gains.h"

enum { EVEN = 100 }; /* rounds in which the share of colliders settles at the latest */
enum { BITS = 16, NEAR = 8 }; /* of a place among known answers; places that are looked at */
static const double HEAVIEST = 15, SUREST = 1e9, COLLIDERS = 1, OTHERS = 2;

typedef struct { uint64_t question; double margin; } Known; /* 0: nothing yet */

typedef struct { /* the lowest answer about each pair x < y, and what was given, as a listener */
    double *lowest; /* nan: nothing was asked */
    int32_t *given; /* filled up with -1 */
    int width;
    int64_t count;
} Heard;

typedef struct {
    Search *s;    /* for its tests */
    Known *known; /* answers about colliders */
    Word *given;
    Heard *heard; /* NULL: nobody listens */
} Asker;

static int reserve_asker(Asker *a, Search *s) {
    const size_t size = (size_t)s->size;
    a->s = s;
    int there = !!(s->root = calloc(size * size, sizeof(double)));
    there &= !!(s->solved = calloc(4 * size, sizeof(double)));
    there &= !!(s->given = calloc(size, sizeof(int)));
    there &= !!(a->known = calloc(1 << BITS, sizeof(Known)));
    return there & !!(a->given = calloc(s->words, sizeof(Word)));
}

static void release_asker(Asker *a) {
    free(a->s->root), free(a->s->solved), free(a->s->given), free(a->known), free(a->given);
}

static void hear(Heard *h, int size, int x, int y, double margin, const int *given, int count) {
    const size_t at = (size_t)x * size + y;
    if (h->lowest[at] <= margin) return;
    h->lowest[at] = margin;
    for (int i = 0; i < h->width; i++) h->given[at * h->width + i] = i < count ? given[i] : -1;
}

static double asked(Asker *a, int x, int y, const Word *given) {
    Search *s = a->s;
    const int count = prepare(s, given);
    const double of_y = solve(s, count, y, s->solved);
    solve(s, count, x, s->solved + s->size);
    if (s->failed) return 0;
    const double found = margin(s, count, x, y, of_y);
    if (a->heard) hear(a->heard, s->size, x, y, found, s->given, count);
    return found;
}

/* The same, given u and v (-1: nobody), asked once if there is a place for it. */
static double remembered(Asker *a, int x, int y, int u, int v) {
    const uint64_t size = (uint64_t)a->s->size + 1, low = u < v ? u + 1 : v + 1;
    const uint64_t high = u < v ? v + 1 : u + 1;
    const uint64_t question = ((x * size + y) * size + low) * size + high + 1;
    const uint64_t first = question * 0x9E3779B97F4A7C15u >> (64 - BITS);
    Known *free = NULL;
    for (int i = 0; i < NEAR && !free; i++) {
        Known *one = a->known + ((first + i) & ((1 << BITS) - 1));
        if (one->question == question) return one->margin;
        if (!one->question) free = one;
    }
    memset(a->given, 0, a->s->words * sizeof(Word));
    if (u >= 0) put(a->given, u);
    if (v >= 0) put(a->given, v);
    const double margin = asked(a, x, y, a->given);
    if (free) *free = (Known){question, margin};
    return margin;
}

/* One side of a triple: the mean Bayes factor for independence, as a logarithm. */
typedef struct { double best, likely; int count; } Side;

static void add(Side *side, double margin) {
    margin = fmax(-SUREST, fmin(margin, SUREST));
    if (margin < side->best)
        side->likely *= exp(margin - side->best), side->best = margin;
    side->likely += exp(side->best - margin), side->count++;
}

static double mean(const Side *side) {
    return side->best - log(fmax(side->likely, 1) / side->count);
}

/* For i - k - j in a skeleton: the log Bayes factor that it is a collider. */
static double factor(Asker *a, const char *joined, int i, int k, int j) {
    const size_t size = (size_t)a->s->size;
    Side without = {SUREST, 0, 0}, with_k = {SUREST, 0, 0};
    add(&without, remembered(a, i, j, -1, -1));
    add(&with_k, remembered(a, i, j, k, -1));
    for (int z = 0; z < a->s->size; z++) {
        if (z == i || z == j || z == k || !(joined[i * size + z] || joined[j * size + z])) continue;
        add(&with_k, remembered(a, i, j, k, z));
        add(&without, remembered(a, i, j, z, -1));
    }
    return fmax(-HEAVIEST, fmin(mean(&with_k) - mean(&without), HEAVIEST));
}

static double log_odds(const double *factors, int count) {
    double share = COLLIDERS / (COLLIDERS + OTHERS), before = -1;
    for (int round = 0; round < EVEN && share != before; round++) {
        const double odds = log(share / (1 - share));
        double believed = 0;
        for (int i = 0; i < count; i++) believed += 1 / (1 + exp(-(factors[i] + odds)));
        before = share, share = (believed + COLLIDERS) / (count + COLLIDERS + OTHERS);
    }
    return log(share / (1 - share));
}
