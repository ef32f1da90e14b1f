/* What searches over classes work on: sets of columns, each a row of words with a bit for each column, and
   a search on its way. */

#ifndef PRIVET_SETS
#define PRIVET_SETS

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t Word;
enum { DAG, PARENTS, LINES, JOINED, ONWARD, PARTS }; /* of a class, a set for each column */
enum { DELETE, TURN, INSERT, KINDS };                /* of steps, in the order of preference */
enum { GIVEN, CLIQUE, BLOCKED, FRESH, SEEN, ABOVE, LEFT, QUEUED }; /* sets at hand */
enum { MOVED = QUEUED + 1, TOUCHED, TODO, HAND, HANDS };            /* and more of them */
enum { DONE, NO_MEMORY, STOPPED, UNFIT }; /* UNFIT: too dense, or nearly singular */
enum { MOST_CLIQUES = 256, MOST_LOOKS = 6, WORD = 64, LARGEST = 1 << 12 };
static const double GRAIN = 1024, NOTHING = 1e-16, LEAST = 1e-9, STRONGEST = 1 - 1e-9;
static const double MOST_WORK = 1 << 27; /* about a tenth of a second */

typedef struct { double worth; int x, y, clique; } Option; /* its clique by its place */
typedef struct { Option *all; Word *cliques; int count, room, sets, sets_room, at; } Options;

typedef struct {
    int size, words, max_parents, failed, apart[2];
    const double *matrix, *terms; /* constant, weight and tilt, each by the number given */
    const double *metric, *doubt; /* metric of noise; rows, variance and bar of tests; or NULL */
    Word *now, *next, *kept; /* classes; those of TOUCHED may differ between now and next */
    Word *possible, *hands, *stale[KINDS];
    Word *limits, *turned; /* pairs to be joined unless they shield a triple, or NULL; arrows */
    double *root, *solved; /* of the columns given; what they say about y and x, and both slopes */
    double of_y; /* what is left of a column's variance beside ``many`` that are given */
    int many;
    int *given, *heap; /* columns: the one with the best step comes first */
    Options *options[KINDS], deletions;
    Word *looks; /* the ends of an edge, what they were joined to, and their parents */
    int tried, first;
    double work; /* products since Python last looked at signals */
    PyThreadState *thread;
} Search;

#define SET(class, part, v) ((class) + ((size_t)(part) * s->size + (v)) * s->words)
#define HANDY(which) (s->hands + (size_t)(which) * s->words)
#define EACH(v, set) for (int v = next(s, set, 0); v >= 0; v = next(s, set, v + 1))
#define WORDS for (int w = 0; w < s->words; w++)
#define BYTES ((size_t)s->words * sizeof(Word))

static int lowest(Word bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int at = 0;
    while (!(bits >> at & 1)) at++;
    return at;
#endif
}

/* The first member that is not below ``from``; -1 if there is none. */
static int next(const Search *s, const Word *set, int from) {
    for (int w = from / WORD; w < s->words; w++, from = w * WORD) {
        Word bits = set[w] & ~(Word)0 << from % WORD;
        if (bits) return w * WORD + lowest(bits);
    }
    return -1;
}

static int has(const Word *set, int v) { return set[v / WORD] >> v % WORD & 1; }
static void put(Word *set, int v) { set[v / WORD] |= (Word)1 << v % WORD; }
static void drop(Word *set, int v) { set[v / WORD] &= ~((Word)1 << v % WORD); }
static int empty(const Search *s, const Word *set) { return next(s, set, 0) < 0; }

static int meet(const Search *s, const Word *a, const Word *b) {
    WORDS if (a[w] & b[w]) return 1;
    return 0;
}

/* Whether all of a, but for one column (or -1), is in b. */
static int within(const Search *s, const Word *a, const Word *b, int but) {
    WORDS {
        Word left = a[w] & ~b[w];
        if (but >= 0 && but / WORD == w) left &= ~((Word)1 << but % WORD);
        if (left) return 0;
    }
    return 1;
}

/* Lets Python look at signals: a run can be stopped. */
static void heed(Search *s) {
    s->work = 0;
    if (s->thread) PyEval_RestoreThread(s->thread);
    if (PyErr_CheckSignals()) s->failed = STOPPED;
    if (s->thread) s->thread = PyEval_SaveThread();
}

#endif
