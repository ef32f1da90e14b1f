/* PC on tests in closed form: its skeleton, and the weights of its colliders.

   The same as in ``skeleton.py`` and ``pc.py``, which say what is done and why, and serve where this
   file was not compiled. ``compiled.py`` calls it. */

#include "_skeleton.h"

/* How many different questions are asked about triples whose ends have so many neighbours together,
   and so many in common. */
static int64_t questions(int64_t some, int64_t common) {
    return common ? 1 + some + common * (some - common) + common * (common - 1) / 2 : 0;
}

/* The same about all triples; ``degrees`` and ``common`` have a place for each column. */
static int64_t all_questions(const char *joined, Py_ssize_t size, int64_t *degrees, int64_t *common) {
    int64_t count = 0;
    for (Py_ssize_t i = 0; i < size; i++)
        for (Py_ssize_t j = 0; j < size; j++) degrees[i] += joined[i * size + j];
    for (Py_ssize_t i = 0; i < size; i++) {
        memset(common, 0, (size_t)size * sizeof(int64_t));
        for (Py_ssize_t z = 0; z < size; z++)
            for (Py_ssize_t j = i + 1; joined[i * size + z] && j < size; j++)
                common[j] += joined[z * size + j];
        for (Py_ssize_t j = i + 1; j < size; j++)
            if (!joined[i * size + j])
                count += questions(degrees[i] + degrees[j] - common[j], common[j]);
    }
    return count;
}

static void weigh(Asker *a, const char *joined, const int64_t *triples, int count, double *out) {
    const int size = a->s->size;
    for (int t = 0; t < count && !a->s->failed; t++, triples += 3)
        out[t] = factor(a, joined, (int)triples[0], (int)triples[1], (int)triples[2]);
    const double odds = log_odds(out, count);
    int64_t *numbers = calloc(2 * (size_t)size, sizeof(int64_t));
    for (int t = 0; t < count; t++) out[t] += odds;
    if (numbers) a->heard->count += all_questions(joined, size, numbers, numbers + size);
    else a->s->failed = NO_MEMORY;
    free(numbers);
}

/* --- Python ----------------------------------------------------------------------------------- */

/* Takes hold of arrays, of which the first few are written to; how many it holds. */
static int hold(PyObject *args, Py_buffer *views, int arrays, int written) {
    int held = 0;
    for (; held < arrays; held++)
        if (PyObject_GetBuffer(PyTuple_GetItem(args, held), views + held,
                               PyBUF_C_CONTIGUOUS | (held < written ? PyBUF_WRITABLE : 0)))
            break;
    return held;
}

/* From lowest and given, and from matrix, metric and doubt: how many columns; 0 if they do not fit. */
static Py_ssize_t taken(Search *s, Heard *h, const Py_buffer *heard, const Py_buffer *tests) {
    const Py_ssize_t size = tests[0].ndim == 2 ? tests[0].shape[0] : 0, square = size * size;
    const Py_ssize_t width = square ? heard[1].len / 4 / square : 0;
    int fit = size >= 1 && size <= LARGEST && heard[0].len == 8 * square;
    fit &= heard[1].len == 4 * square * width && tests[0].len == 8 * square;
    fit &= tests[1].len == 8 * square && tests[2].len == 24;
    s->size = (int)size, s->words = (s->size + WORD - 1) / WORD, h->width = (int)width;
    s->matrix = tests[0].buf, s->metric = tests[1].buf, s->doubt = tests[2].buf;
    h->lowest = heard[0].buf, h->given = heard[1].buf;
    return fit ? size : 0;
}

/* What a call gives back: how many questions were asked; None if it is left to Python. */
static PyObject *told(const Search *s, const Heard *h) {
    if (s->failed == NO_MEMORY) PyErr_NoMemory();
    if (PyErr_Occurred()) return NULL;
    return s->failed ? Py_BuildValue("") : PyLong_FromLongLong(h->count);
}

/* skeleton(lowest, given, joined, separators, margins, matrix, metric, doubt, strength, mend): edges
   are taken away from ``joined``. For each pair, ``separators`` has room for how many separated it (-1:
   nothing) and for these; ``margins`` become the lowest ones of the last order. */
static PyObject *skeleton(PyObject *self, PyObject *args) {
    enum { ARRAYS = 9 };
    Py_buffer views[ARRAYS];
    Search s = {0};
    Skeleton k = {.heard = {0}};
    PyObject *out = NULL;
    if (PyTuple_Size(args) != ARRAYS + 1) return PyErr_Format(PyExc_ValueError, "wrong arrays");
    if ((k.mend = PyObject_IsTrue(PyTuple_GetItem(args, ARRAYS))) < 0) return NULL;
    int held = hold(args, views, ARRAYS, 5);
    if (held == ARRAYS) {
        const Py_ssize_t size = taken(&s, &k.heard, views, views + 5), square = size * size;
        k.most = size ? (int)(views[3].len / 4 / square) - 1 : -1;
        int fit = k.most >= 0 && k.most <= WIDEST && k.heard.width >= k.most;
        fit &= views[2].len == square && views[3].len == 4 * square * (k.most + 1);
        fit &= views[4].len == 8 * square && views[8].len == 8 * square;
        if (!fit) {
            PyErr_Format(PyExc_ValueError, "wrong arrays");
        } else {
            k.joined = views[2].buf, k.separators = views[3].buf, k.lowest = views[4].buf;
            k.strength = views[8].buf;
            if (!reserve(&k, &s)) s.failed = NO_MEMORY;
            s.thread = PyEval_SaveThread();
            if (!s.failed) find_skeleton(&k);
            PyEval_RestoreThread(s.thread);
            release(&k);
            out = told(&s, &k.heard);
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return out;
}

/* weigh(lowest, given, weights, matrix, metric, doubt, joined, triples): the log odds of each triple
   (i, k, j), i < j, that it is a collider. */
static PyObject *weigh_all(PyObject *self, PyObject *args) {
    enum { ARRAYS = 8 };
    Py_buffer views[ARRAYS];
    Search s = {0};
    Heard h = {0};
    Asker a = {.heard = &h};
    PyObject *out = NULL;
    if (PyTuple_Size(args) != ARRAYS) return PyErr_Format(PyExc_ValueError, "wrong arrays");
    int held = hold(args, views, ARRAYS, 3);
    if (held == ARRAYS) {
        const Py_ssize_t size = taken(&s, &h, views, views + 3), count = views[2].len / 8;
        const int64_t *triples = views[7].buf;
        int fit = size && h.width >= 2 && views[2].len == 8 * count && count <= INT32_MAX;
        fit = fit && views[6].len == size * size && views[7].len == 24 * count;
        for (Py_ssize_t i = 0; fit && i < 3 * count; i++) fit = triples[i] >= 0 && triples[i] < size;
        if (!fit) {
            PyErr_Format(PyExc_ValueError, "wrong arrays");
        } else {
            if (!reserve_asker(&a, &s)) s.failed = NO_MEMORY;
            if (!s.failed) weigh(&a, views[6].buf, triples, (int)count, views[2].buf);
            release_asker(&a);
            out = told(&s, &h);
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return out;
}

static PyMethodDef functions[] = {{"skeleton", skeleton, METH_VARARGS, NULL},
                                  {"weigh", weigh_all, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_pc", NULL, -1, functions};
PyMODINIT_FUNC PyInit__pc(void) { return PyModule_Create(&module); }
