/* Greedy equivalence search that goes back, on gains in closed form.

   The same as ``eager.py`` with ``options.py``, ``classes.py`` and ``states.py``, which say what is
   done and why, and serve where this file was not compiled. ``compiled.py`` calls it. */

#include "_options.h"
#include "_gains.h"

static void look(Search *s, int y, const Word *given) {
    s->many = prepare(s, given), s->of_y = solve(s, s->many, y, s->solved);
}

static double insertion(Search *s, int x, int y) {
    double worth = added(s, s->many, x, y, s->of_y);
    if (s->doubt && improves(worth) && !(margin(s, s->many, x, y, s->of_y) > 0)) return 0;
    return worth;
}

static void weigh(Search *s, int kind) {
    EACH(y, s->stale[kind]) list(s, kind, y);
    memset(s->stale[kind], 0, BYTES);
}

/* Goes to where no step leads any higher; by how much it is higher. */
static double up(Search *s) {
    double gained = 0, worth = 1;
    while (worth > 0 && !s->failed) {
        worth = 0;
        for (int kind = 0; kind < KINDS && !(worth > 0); kind++) worth = step(s, kind).worth;
        gained += worth;
        heed(s);
    }
    return gained;
}

/* Whether this edge gets its first look with the edges that its ends have. */
static int fresh_look(Search *s, int x, int y) {
    const int length = 4 * s->words + 1, ends[] = {x < y ? x : y, x < y ? y : x};
    Word *own = s->looks + (size_t)s->tried * length;
    own[0] = (Word)ends[0] * LARGEST + ends[1];
    for (int i = 0; i < 4; i++)
        memcpy(own + 1 + i * s->words, SET(s->now, i < 2 ? JOINED : PARENTS, ends[i % 2]), BYTES);
    for (const Word *before = s->looks; before < own; before += length)
        if (before[0] == own[0] && !memcmp(before, own, length * sizeof(Word))) return 0;
    return 1;
}

/* Takes edges away, the cheapest first, until that leads higher up; 0 if none does. */
static int higher(Search *s) {
    Options *o = &s->deletions;
    o->count = o->sets = 0;
    for (int y = 0; y < s->size && !s->failed; y++) deletes(s, o, y, 1);
    sort(o);
    for (int at = 0; at < o->count && !s->failed; at++) {
        const Option one = o->all[at];
        if (s->tried >= MOST_LOOKS * s->size) return 0;
        if (!meet(s, SET(s->now, JOINED, one.x), SET(s->now, JOINED, one.y))) continue;
        if (!fresh_look(s, one.x, one.y)) continue;
        if (!result(s, DELETE, one.x, one.y, o->cliques + (size_t)one.clique * s->words)) continue;
        s->tried++;
        memcpy(s->kept, s->now, PARTS * s->size * BYTES);
        s->apart[0] = one.x, s->apart[1] = one.y;
        move(s, &s->next);
        double gained = up(s);
        s->apart[0] = s->apart[1] = -1;
        if (gained + one.worth > 0) return up(s), 1;
        for (int v = 0; v < s->size; v++) put(HANDY(TOUCHED), v);
        move(s, &s->kept);
    }
    return 0;
}

/* --- Python ----------------------------------------------------------------------------------- */

static void release_all(Search *s) {
    free(s->deletions.all), free(s->deletions.cliques), free(s->looks), free(s->given);
    free(s->kept), free(s->root), free(s->solved);
    release(s);
}

static int reserve_all(Search *s) {
    const size_t size = (size_t)s->size;
    int there = reserve(s);
    there &= !!(s->kept = calloc(PARTS * size, BYTES)) & !!(s->given = calloc(size, sizeof(int)));
    there &= !!(s->looks = calloc(MOST_LOOKS * size + 1, 4 * BYTES + sizeof(Word)));
    there &= !!(s->root = calloc(size * size, sizeof(double)));
    there &= !!(s->solved = calloc(4 * size, sizeof(double)));
    return there;
}

/* From the class in ``parts`` (flags: part, column, member; beside those of a class, what may be
   joined) to one that no step improves, nor any way on after an edge of a triangle is taken away. */
static void search(Search *s, char *parts) {
    const size_t rows = PARTS * (size_t)s->size;
    set_up(s, parts, rows, s->now), set_up(s, parts, rows, s->next);
    set_up(s, parts + rows * s->size, (size_t)s->size, s->possible);
    up(s);
    while (!s->failed && higher(s)) continue;
    spell(s, s->now, rows, parts);
}

/* climb(parts, matrix, terms, metric, doubt, max_parents); the last two arrays may be empty. */
static PyObject *climb(PyObject *self, PyObject *args) {
    enum { ARRAYS = 5 };
    PyObject *given[ARRAYS];
    Py_buffer views[ARRAYS];
    Search s = {0};
    int held = 0;
    if (!PyArg_ParseTuple(args, "OOOOOi", given, given + 1, given + 2, given + 3, given + 4,
                          &s.max_parents))
        return NULL;
    while (held < ARRAYS && !PyObject_GetBuffer(given[held], views + held,
                                                PyBUF_C_CONTIGUOUS | (held ? 0 : PyBUF_WRITABLE)))
        held++;
    if (held == ARRAYS) {
        const Py_ssize_t size = views[1].ndim == 2 ? views[1].shape[0] : 0, square = size * size;
        const Py_ssize_t wanted[] = {(PARTS + 1) * square, 8 * square, 24 * size, 8 * square, 24};
        const int all = views[4].len ? ARRAYS : 3;
        int fit = size >= 1 && size <= LARGEST;
        for (int i = 0; i < all; i++) fit &= views[i].len == wanted[i];
        if (!fit) {
            PyErr_Format(PyExc_ValueError, "wrong arrays");
        } else {
            s.size = (int)size, s.matrix = views[1].buf, s.terms = views[2].buf;
            if (all == ARRAYS) s.metric = views[3].buf, s.doubt = views[4].buf;
            if (!reserve_all(&s)) s.failed = NO_MEMORY;
            s.thread = PyEval_SaveThread();
            if (!s.failed) search(&s, views[0].buf);
            PyEval_RestoreThread(s.thread);
            release_all(&s);
            if (s.failed == NO_MEMORY) PyErr_NoMemory();
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(s.failed == DONE);
}

static PyMethodDef functions[] = {{"climb", climb, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_climb", NULL, -1, functions};
PyMODINIT_FUNC PyInit__climb(void) { return PyModule_Create(&module); }
