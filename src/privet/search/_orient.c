/* The best DAG over a skeleton by weighed colliders.

   The same as ``best_dag`` in ``colliders.py``, which says what is done and why, and serves where
   this file was not compiled. ``compiled.py`` calls it. */

#include "_orient.h"

static int below(const int64_t *numbers, Py_ssize_t count, Py_ssize_t bound) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (numbers[i] < 0 || numbers[i] >= bound) return 0;
    return 1;
}

static int reserve(Drawn *d) {
    const size_t triples = (size_t)d->triples + 1;
    int there = reserve_arrows(d, (size_t)d->edges);
    there &= !!(d->triple = calloc(triples, sizeof(Triple)));
    there &= !!(d->order = calloc(triples, sizeof(Heavy)));
    return there & !!(d->others = calloc(2 * triples, sizeof(Other)));
}

/* ``pairs`` are the edges, ``slots`` the two arrows of each triple. */
static void listed(Drawn *d, const int64_t *pairs, const int64_t *slots, const int64_t *weights) {
    for (int e = 0; e < d->edges; e++) {
        d->tails[2 * e] = d->heads[2 * e + 1] = (int)pairs[2 * e];
        d->heads[2 * e] = d->tails[2 * e + 1] = (int)pairs[2 * e + 1];
    }
    for (int i = 0; i < d->triples; i++)
        d->triple[i] = (Triple){(int)slots[2 * i], (int)slots[2 * i + 1], weights[i]};
}

static void search(Drawn *d, char *dag) {
    draw(d);
    for (int y = 0; y < d->size; y++)
        for (int x = 0; x < d->size; x++)
            dag[(size_t)x * d->size + y] = has(d->best + (size_t)y * d->words, x);
}

/* draw(dag, pairs, slots, weights, may_turn, orders): ``dag`` becomes the best DAG that a climb
   from one of the orders of the columns finds. */
static PyObject *draw_best(PyObject *self, PyObject *args) {
    enum { ARRAYS = 6 };
    PyObject *given[ARRAYS];
    Py_buffer views[ARRAYS];
    Drawn d = {0};
    int held = 0;
    if (!PyArg_ParseTuple(args, "OOOOOO", given, given + 1, given + 2, given + 3, given + 4,
                          given + 5))
        return NULL;
    while (held < ARRAYS && !PyObject_GetBuffer(given[held], views + held,
                                                PyBUF_C_CONTIGUOUS | (held ? 0 : PyBUF_WRITABLE)))
        held++;
    if (held == ARRAYS) {
        const Py_ssize_t size = views[0].ndim == 2 ? views[0].shape[0] : 0;
        const Py_ssize_t edges = views[1].len / 16, triples = views[3].len / 8;
        int fit = size >= 1 && size <= LARGEST && views[0].len == size * size;
        fit &= views[1].len == 16 * edges && views[2].len == 16 * triples;
        fit &= views[3].len == 8 * triples && views[4].len == 2 * edges;
        fit = fit && views[5].len >= 8 * size && views[5].len % (8 * size) == 0;
        fit = fit && edges <= size * size && triples <= INT32_MAX / 4;
        fit = fit && below(views[1].buf, 2 * edges, size) && below(views[5].buf, views[5].len / 8, size);
        fit = fit && below(views[2].buf, 2 * triples, 2 * edges);
        if (!fit) {
            PyErr_Format(PyExc_ValueError, "wrong arrays");
        } else {
            d.size = (int)size, d.words = (d.size + WORD - 1) / WORD;
            d.edges = (int)edges, d.triples = (int)triples, d.may_turn = views[4].buf;
            d.orders = views[5].buf, d.starts = (int)(views[5].len / (8 * size));
            if (!reserve(&d)) PyErr_NoMemory();
            else {
                listed(&d, views[1].buf, views[2].buf, views[3].buf);
                Py_BEGIN_ALLOW_THREADS
                search(&d, views[0].buf);
                Py_END_ALLOW_THREADS
            }
            release_arrows(&d);
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : Py_BuildValue("");
}

static PyMethodDef functions[] = {{"draw", draw_best, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_orient", NULL, -1, functions};
PyMODINIT_FUNC PyInit__orient(void) { return PyModule_Create(&module); }
