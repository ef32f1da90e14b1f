/* A graph held against the evidence, on tests in closed form.

   The same as ``refine.py``, with ``colliders.py`` and what ``pc.py`` weighs colliders by, which
   say what is done and why, and serve where this file was not compiled. ``compiled.py`` calls it. */

#include "_colliders.h"
#include "_orient.h"

static const double GRAINS = 1 << 30;

typedef struct {
    Search *s; /* for its tests */
    Asker asker; /* rounds ask nearly the same about colliders */
    Drawn d;
    char *joined, *before; /* [round]: skeletons; the parents of the last round are before */
    Word *last;
    double *margins, *kept, *weights, *most;
    int rounds, room, drawn; /* whether arrows are drawn already */
} Work;

#define AT(w, x, y) ((size_t)(x) * (w)->s->size + (y))

static int grow(Work *w) {
    Drawn *d = &w->d;
    const int room = w->room = 2 * w->room + 64;
    void *more[] = {realloc(d->triple, room * sizeof(Triple)), NULL, NULL, NULL};
    if (more[0]) d->triple = more[0];
    if ((more[1] = realloc(d->order, room * sizeof(Heavy)))) d->order = more[1];
    if ((more[2] = realloc(d->others, 2 * room * sizeof(Other)))) d->others = more[2];
    if ((more[3] = realloc(w->weights, room * sizeof(double)))) w->weights = more[3];
    return more[0] && more[1] && more[2] && more[3];
}

/* The edges, the unshielded triples and their weights. */
static void weigh(Work *w, const char *joined) {
    Drawn *d = &w->d;
    const int size = w->s->size;
    d->edges = d->triples = 0;
    for (int i = 0; i < size; i++)
        for (int j = i + 1; j < size; j++)
            if (joined[AT(w, i, j)]) {
                const int s = 2 * d->edges++;
                d->tails[s] = d->heads[s + 1] = i, d->heads[s] = d->tails[s + 1] = j;
                d->slots[AT(w, i, j)] = s, d->slots[AT(w, j, i)] = s + 1;
            }
    for (int k = 0; k < size; k++)
        for (int i = 0; i < size; i++)
            for (int j = i + 1; joined[AT(w, k, i)] && j < size; j++) {
                if (!joined[AT(w, k, j)] || joined[AT(w, i, j)]) continue;
                if (d->triples == w->room && !grow(w)) {
                    w->s->failed = NO_MEMORY;
                    return;
                }
                w->weights[d->triples] = factor(&w->asker, joined, i, k, j);
                const int s = d->slots[AT(w, i, k)], t = d->slots[AT(w, j, k)];
                d->triple[d->triples++] = (Triple){s, t, 0};
            }
    const double odds = log_odds(w->weights, d->triples);
    for (int i = 0; i < d->triples; i++)
        d->triple[i].weight = (int64_t)rint((w->weights[i] + odds) * GRAINS);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Asks for each pair given the parents of both, where these are not the same as before. */
static void imply(Work *w, int first) {
    Drawn *d = &w->d;
    const int size = w->s->size, words = d->words;
    for (int v = 0; v < size; v++) {
        const size_t at = (size_t)v * words;
        w->before[v] = !first && !memcmp(w->last + at, d->best + at, words * sizeof(Word));
    }
    for (int x = 0; x < size; x++)
        for (int y = x + 1; y < size; y++) {
            if (w->before[x] && w->before[y]) continue;
            for (int i = 0; i < words; i++)
                w->asker.given[i] = d->best[(size_t)x * words + i] | d->best[(size_t)y * words + i];
            drop(w->asker.given, x), drop(w->asker.given, y);
            w->margins[AT(w, x, y)] = w->margins[AT(w, y, x)] = asked(&w->asker, x, y, w->asker.given);
        }
    memcpy(w->last, d->best, (size_t)size * words * sizeof(Word));
}

/* What is contradicted in a skeleton, and the skeleton without that; how many pairs it is. */
static int mend(Work *w, const char *old, char *out) {
    const int size = w->s->size;
    const double bar = w->s->doubt[2];
    int against = 0;
    for (int x = 0; x < size; x++) {
        w->most[x] = 0;
        for (int y = 0; y < size; y++)
            if (x != y && !old[AT(w, x, y)]) w->most[x] = fmax(w->most[x], w->margins[AT(w, x, y)]);
    }
    for (int x = 0; x < size; x++)
        for (int y = 0; y < size; y++) {
            const double told = w->margins[AT(w, x, y)];
            const int was = old[AT(w, x, y)], idle = was && told < -bar;
            const int missing = x != y && !was && told > 0;
            against += missing + idle;
            out[AT(w, x, y)] = (was && !idle) || (missing && told >= w->most[x] && told >= w->most[y]);
        }
    return against;
}

/* From the first skeleton, or its arrows, to the DAG that is contradicted least. */
static void refine_all(Work *w, Word *best) {
    Search *s = w->s;
    const size_t square = (size_t)s->size * s->size;
    int least = INT32_MAX;
    for (int round = 0; round <= w->rounds; round++) {
        char *joined = w->joined + round * square;
        for (int old = 0; old < round; old++)
            if (!memcmp(w->joined + old * square, joined, square)) return;
        if (round || !w->drawn) weigh(w, joined);
        if (s->failed) return;
        if (round || !w->drawn) draw(&w->d);
        imply(w, !round);
        if (s->failed) return;
        const int against = mend(w, joined, joined + square);
        if (against < least) {
            least = against;
            memcpy(best, w->d.best, (size_t)s->size * s->words * sizeof(Word));
            memcpy(w->kept, w->margins, square * sizeof(double));
        }
    }
}

/* --- Python ----------------------------------------------------------------------------------- */

static int reserve(Work *w) {
    Search *s = w->s;
    Drawn *d = &w->d;
    const size_t size = (size_t)s->size, square = size * size, set = s->words * sizeof(Word);
    int there = reserve_asker(&w->asker, s);
    there &= !!(w->joined = calloc(w->rounds + 2, square)) & !!(w->before = calloc(size, 1));
    there &= !!(w->last = calloc(size, set));
    there &= !!(w->margins = calloc(square, sizeof(double)));
    there &= !!(w->most = calloc(size, sizeof(double)));
    there &= !!(d->slots = calloc(square, sizeof(int)));
    there &= reserve_arrows(d, square / 2);
    return there && grow(w);
}

static void release(Work *w) {
    Drawn *d = &w->d;
    release_asker(&w->asker);
    free(w->joined), free(w->before), free(w->last), free(w->margins);
    free(w->most), free(w->weights);
    free(d->slots);
    release_arrows(d);
}

static void search(Work *w, char *dag) {
    const int size = w->s->size;
    Word *best = calloc((size_t)size * w->s->words, sizeof(Word));
    for (int x = 0; x < size; x++)
        for (int y = 0; y < size; y++) {
            const int there = dag[AT(w, x, y)], back = dag[AT(w, y, x)];
            if (there) put(w->d.best + (size_t)y * w->s->words, x);
            w->joined[AT(w, x, y)] = there || back, w->drawn |= there != back;
        }
    if (best) refine_all(w, best);
    else w->s->failed = NO_MEMORY;
    for (int y = 0; best && y < size; y++)
        for (int x = 0; x < size; x++) dag[AT(w, x, y)] = has(best + (size_t)y * w->s->words, x);
    free(best);
}

/* refine(graph, margins, matrix, metric, doubt, orders, rounds): the skeleton or DAG in ``graph``
   becomes a DAG. The metric may be empty where there is no noise. */
static PyObject *refine(PyObject *self, PyObject *args) {
    enum { ARRAYS = 6 };
    PyObject *given[ARRAYS];
    Py_buffer views[ARRAYS];
    Search s = {0};
    Work w = {.s = &s};
    int held = 0;
    if (!PyArg_ParseTuple(args, "OOOOOOi", given, given + 1, given + 2, given + 3, given + 4,
                          given + 5, &w.rounds))
        return NULL;
    while (held < ARRAYS &&
           !PyObject_GetBuffer(given[held], views + held,
                               PyBUF_C_CONTIGUOUS | (held < 2 ? PyBUF_WRITABLE : 0)))
        held++;
    if (held == ARRAYS) {
        const Py_ssize_t size = views[2].ndim == 2 ? views[2].shape[0] : 0, square = size * size;
        const Py_ssize_t wanted[] = {square, 8 * square, 8 * square, 8 * square, 24};
        int fit = size >= 1 && size <= LARGEST && w.rounds >= 0;
        for (int i = 0; i < ARRAYS - 1; i++) fit &= views[i].len == wanted[i];
        fit &= views[5].len >= 8 * size && size && views[5].len % (8 * size) == 0;
        if (!fit) {
            PyErr_Format(PyExc_ValueError, "wrong arrays");
        } else {
            s.size = w.d.size = (int)size, s.words = w.d.words = (s.size + WORD - 1) / WORD;
            s.matrix = views[2].buf, s.metric = views[3].buf, s.doubt = views[4].buf;
            w.kept = views[1].buf, w.d.orders = views[5].buf;
            w.d.starts = (int)(views[5].len / (8 * size));
            if (!reserve(&w)) s.failed = NO_MEMORY;
            s.thread = PyEval_SaveThread();
            if (!s.failed) search(&w, views[0].buf);
            PyEval_RestoreThread(s.thread);
            release(&w);
            if (s.failed == NO_MEMORY) PyErr_NoMemory();
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(s.failed == DONE);
}

/* The z and the variance of each question, a row (x, y, *given) that is filled up with -1. */
static void answer(Asker *a, const int64_t *asked, Py_ssize_t count, Py_ssize_t width,
                   double *out) {
    Search *s = a->s;
    for (Py_ssize_t i = 0; i < count && !s->failed; i++, asked += width) {
        memset(a->given, 0, s->words * sizeof(Word));
        for (Py_ssize_t j = 2; j < width; j++)
            if (asked[j] >= 0) put(a->given, (int)asked[j]);
        const int x = (int)asked[0], y = (int)asked[1], known = prepare(s, a->given);
        const double of_y = solve(s, known, y, s->solved);
        solve(s, known, x, s->solved + s->size);
        out[i] = z_of(s, known, x, y, of_y, out + count + i);
    }
}

/* ask(out, questions, matrix, metric, doubt) */
static PyObject *ask(PyObject *self, PyObject *args) {
    enum { ARRAYS = 5 };
    PyObject *given[ARRAYS];
    Py_buffer views[ARRAYS];
    Search s = {0};
    Asker a = {0};
    int held = 0;
    if (!PyArg_ParseTuple(args, "OOOOO", given, given + 1, given + 2, given + 3, given + 4))
        return NULL;
    while (held < ARRAYS && !PyObject_GetBuffer(given[held], views + held,
                                                PyBUF_C_CONTIGUOUS | (held ? 0 : PyBUF_WRITABLE)))
        held++;
    if (held == ARRAYS) {
        const Py_ssize_t size = views[2].ndim == 2 ? views[2].shape[0] : 0, square = size * size;
        const Py_ssize_t count = views[1].ndim == 2 ? views[1].shape[0] : 0;
        const Py_ssize_t width = views[1].ndim == 2 ? views[1].shape[1] : 0;
        int fit = size >= 1 && size <= LARGEST && width >= 2 && views[1].itemsize == 8;
        fit &= views[0].len == 16 * count && views[2].len == 8 * square;
        fit &= views[3].len == 8 * square && views[4].len == 24;
        for (Py_ssize_t i = 0; fit && i < count * width; i++) {
            const int64_t column = ((const int64_t *)views[1].buf)[i];
            fit &= column < size && column >= (i % width < 2 ? 0 : -1);
        }
        if (!fit) {
            PyErr_Format(PyExc_ValueError, "wrong arrays");
        } else {
            s.size = (int)size, s.words = (s.size + WORD - 1) / WORD;
            s.matrix = views[2].buf, s.metric = views[3].buf, s.doubt = views[4].buf;
            if (!reserve_asker(&a, &s)) s.failed = NO_MEMORY;
            if (!s.failed) answer(&a, views[1].buf, count, width, views[0].buf);
            release_asker(&a);
            if (s.failed == NO_MEMORY) PyErr_NoMemory();
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(s.failed == DONE);
}

static PyMethodDef functions[] = {{"refine", refine, METH_VARARGS, NULL},
                                  {"ask", ask, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_refine", NULL, -1, functions};
PyMODINIT_FUNC PyInit__refine(void) { return PyModule_Create(&module); }
