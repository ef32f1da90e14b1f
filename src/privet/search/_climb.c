/* Greedy equivalence search that goes back, on gains in closed form.

   The same as ``eager.py`` with ``options.py``, ``classes.py`` and ``states.py``, which say what is
   done and why, and serve where this file was not compiled. ``compiled.py`` calls it. */

#include "_classes.h"
#include "_gains.h"

/* Lets Python look at signals each time that so many products were worked out. */
static void worked(Search *s, double products) {
    if ((s->work += products) > MOST_WORK) heed(s);
}

/* --- the steps to one column, best first ------------------------------------------------------ */

static void *grown(Search *s, void *old, int *room, int needed, size_t bytes) {
    if (needed <= *room) return old;
    void *more = realloc(old, (size_t)needed * 2 * bytes);
    if (!more) return s->failed = NO_MEMORY, old;
    *room = needed * 2;
    return more;
}

static void offer(Search *s, Options *o, double worth, int x, int y, int clique) {
    o->all = grown(s, o->all, &o->room, o->count + 1, sizeof(Option));
    if (!s->failed) o->all[o->count++] = (Option){rint(worth * GRAIN) / GRAIN, x, y, clique};
}

static int earlier(const void *one, const void *other) {
    const Option *a = one, *b = other;
    if (a->worth != b->worth) return a->worth > b->worth ? -1 : 1;
    if (a->x != b->x) return a->x < b->x ? -1 : 1;
    if (a->y != b->y) return a->y < b->y ? -1 : 1;
    return a->clique < b->clique ? -1 : 1;
}

static void sort(Options *o) {
    if (o->count) qsort(o->all, (size_t)o->count, sizeof(Option), earlier);
}

/* Appends all cliques with what CLIQUE has and some members of ``free`` that are not above
   ``last``, in the order of the numbers that they are. */
static void append(Search *s, Options *o, const Word *free, int last) {
    while (last >= 0 && !has(free, last)) last--;
    if (last < 0) {
        o->cliques = grown(s, o->cliques, &o->sets_room, o->sets + 1, BYTES);
        if (!s->failed) memcpy(o->cliques + (size_t)o->sets++ * s->words, HANDY(CLIQUE), BYTES);
        if (o->sets - s->first > MOST_CLIQUES) s->failed = UNFIT;
        return;
    }
    append(s, o, free, last - 1);
    if (!s->failed && within(s, HANDY(CLIQUE), SET(s->now, JOINED, last), -1)) {
        put(HANDY(CLIQUE), last);
        append(s, o, free, last - 1);
        drop(HANDY(CLIQUE), last);
    }
}

/* Appends all cliques with all of ``always`` (NULL: nobody) and some of ``free``; the first. */
static int cliques(Search *s, Options *o, const Word *always, const Word *free) {
    s->first = o->sets;
    memset(HANDY(CLIQUE), 0, BYTES);
    if (always) {
        EACH(v, always) if (!within(s, always, SET(s->now, JOINED, v), v)) return s->first;
        memcpy(HANDY(CLIQUE), always, BYTES);
    }
    append(s, o, free, s->size - 1);
    return s->first;
}

static int beside(Search *s, const Word *parents, const Word *clique) {
    int count = 0;
    WORDS HANDY(GIVEN)[w] = parents[w] | clique[w];
    EACH(v, HANDY(GIVEN)) count++;
    worked(s, (double)(count + 1) * (count + 1) * s->size);
    return count < s->max_parents;
}

static void inserts(Search *s, Options *o, int y) {
    const Word *parents = SET(s->now, PARENTS, y), *lines = SET(s->now, LINES, y);
    cliques(s, o, NULL, lines);
    for (int at = 0; at < o->sets && !s->failed; at++) {
        const Word *clique = o->cliques + (size_t)at * s->words;
        if (!beside(s, parents, clique)) continue;
        int count = prepare(s, HANDY(GIVEN));
        double of_y = solve(s, count, y, s->solved);
        for (int x = 0; x < s->size && !s->failed; x++) {
            const Word *joined = SET(s->now, JOINED, x);
            Word common = 0;
            if (has(joined, y) || !has(SET(s->possible, 0, y), x)) continue;
            WORDS common |= lines[w] & joined[w] & ~clique[w];
            if (common) continue;
            double worth = added(s, count, x, y, of_y);
            if (worth * GRAIN > 0.5 && (!s->doubt || margin(s, count, x, y, of_y) > 0))
                offer(s, o, worth, x, y, at);
        }
    }
}

static void deletes(Search *s, Options *o, int y, int all) {
    const Word *parents = SET(s->now, PARENTS, y), *lines = SET(s->now, LINES, y);
    EACH(x, SET(s->now, JOINED, y)) {
        if (s->failed || !(has(parents, x) || has(lines, x))) continue;
        WORDS HANDY(LEFT)[w] = lines[w] & SET(s->now, JOINED, x)[w];
        for (int at = cliques(s, o, NULL, HANDY(LEFT)); at < o->sets && !s->failed; at++) {
            beside(s, parents, o->cliques + (size_t)at * s->words);
            drop(HANDY(GIVEN), x);
            double worth = -gain(s, x, y, HANDY(GIVEN));
            if (all || worth * GRAIN > 0.5) offer(s, o, worth, x, y, at);
        }
    }
}

static void turns(Search *s, Options *o, int y) {
    const Word *lines = SET(s->now, LINES, y);
    EACH(x, SET(s->now, ONWARD, y)) {
        int line = has(lines, x);
        if (s->failed) return;
        WORDS HANDY(ABOVE)[w] = line ? 0 : lines[w] & SET(s->now, JOINED, x)[w];
        WORDS HANDY(LEFT)[w] = lines[w] & ~HANDY(ABOVE)[w];
        if (line) drop(HANDY(LEFT), x);
        for (int at = cliques(s, o, HANDY(ABOVE), HANDY(LEFT)); at < o->sets && !s->failed; at++) {
            const Word *clique = o->cliques + (size_t)at * s->words;
            if (!beside(s, SET(s->now, PARENTS, y), clique)) continue;
            double worth = gain(s, x, y, HANDY(GIVEN));
            WORDS HANDY(GIVEN)[w] =
                SET(s->now, PARENTS, x)[w] | (clique[w] & SET(s->now, LINES, x)[w]);
            drop(HANDY(GIVEN), y);
            worth -= gain(s, x, y, HANDY(GIVEN));
            if (worth * GRAIN > 0.5) offer(s, o, worth, x, y, at);
        }
    }
}

static void weigh(Search *s, int kind) {
    EACH(y, s->stale[kind]) {
        Options *o = &s->options[kind][y];
        o->count = o->sets = 0;
        if (kind == INSERT) inserts(s, o, y);
        else if (kind == DELETE) deletes(s, o, y, 0);
        else turns(s, o, y);
        sort(o);
    }
    memset(s->stale[kind], 0, BYTES);
}

/* --- the search ------------------------------------------------------------------------------- */

/* Goes to another class, which differs in TOUCHED at most, and marks the columns to which steps may
   differ. */
static void move(Search *s, Word **class) {
    Word *old = s->now, *new = *class;
    EACH(v, HANDY(TOUCHED)) {
        int same = 1;
        for (int part = PARENTS; part < PARTS; part++)
            same &= !memcmp(SET(old, part, v), SET(new, part, v), BYTES);
        if (same) continue;
        for (int kind = 0; kind < KINDS; kind++) put(s->stale[kind], v);
        WORDS s->stale[TURN][w] |= SET(new, JOINED, v)[w];
        if (memcmp(SET(old, JOINED, v), SET(new, JOINED, v), BYTES))
            for (int kind = 0; kind < KINDS; kind++)
                WORDS s->stale[kind][w] |= SET(new, LINES, v)[w];
    }
    s->now = new, *class = old;
}

/* Puts the column at this place of the heap where its best step that is left belongs. */
static void sift(Search *s, const Options *of, int count, int at) {
    for (int child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
        const Options *a = &of[s->heap[child]], *b = &of[s->heap[child + (child + 1 < count)]];
        if (earlier(b->all + b->at, a->all + a->at) < 0) child++, a = b;
        b = &of[s->heap[at]];
        if (earlier(a->all + a->at, b->all + b->at) > 0) return;
        const int lower = s->heap[at];
        s->heap[at] = s->heap[child], s->heap[child] = lower;
    }
}

static int kept_apart(const Search *s, int x, int y) {
    return (x == s->apart[0] && y == s->apart[1]) || (x == s->apart[1] && y == s->apart[0]);
}

/* Takes the best valid step of this kind; what it is worth, or 0. */
static double step(Search *s, int kind) {
    Options *of = s->options[kind];
    int count = 0;
    weigh(s, kind);
    for (int y = 0; y < s->size; y++)
        if (of[y].at = 0, of[y].count) s->heap[count++] = y;
    for (int at = count / 2 - 1; at >= 0; at--) sift(s, of, count, at);
    while (count && !s->failed) {
        Options *o = &of[s->heap[0]];
        const Option best = o->all[o->at++];
        const Word *clique = o->cliques + (size_t)best.clique * s->words;
        worked(s, (double)s->size * s->words); /* a way through all columns is looked for */
        if (!(kind == INSERT && kept_apart(s, best.x, best.y)) &&
            valid(s, kind, best.x, best.y, clique) && result(s, kind, best.x, best.y, clique)) {
            move(s, &s->next);
            return best.worth;
        }
        if (o->at == o->count) s->heap[0] = s->heap[--count];
        sift(s, of, count, 0);
    }
    return 0;
}

/* Goes to where no step leads any higher; by how much it is higher. */
static double up(Search *s) {
    double gained = 0, worth = 1;
    while (worth > 0 && !s->failed) {
        worth = 0;
        for (int kind = 0; kind < KINDS && !(worth > 0); kind++) worth = step(s, kind);
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

static void release(Search *s) {
    for (int kind = 0; kind < KINDS; kind++) {
        for (int y = 0; s->options[kind] && y < s->size; y++)
            free(s->options[kind][y].all), free(s->options[kind][y].cliques);
        free(s->options[kind]), free(s->stale[kind]);
    }
    free(s->deletions.all), free(s->deletions.cliques), free(s->looks), free(s->given);
    free(s->heap);
    free(s->now), free(s->next), free(s->kept), free(s->possible), free(s->hands);
    free(s->root), free(s->solved);
}

static int reserve(Search *s) {
    const size_t size = (size_t)s->size, class = PARTS * size;
    int there = 1;
    s->words = (s->size + WORD - 1) / WORD, s->apart[0] = s->apart[1] = -1;
    there &= !!(s->now = calloc(class, BYTES)) & !!(s->next = calloc(class, BYTES));
    there &= !!(s->kept = calloc(class, BYTES)) & !!(s->hands = calloc(HANDS, BYTES));
    there &= !!(s->possible = calloc(size, BYTES));
    there &= !!(s->looks = calloc(MOST_LOOKS * size + 1, 4 * BYTES + sizeof(Word)));
    there &= !!(s->root = calloc(size * size, sizeof(double)));
    there &= !!(s->solved = calloc(4 * size, sizeof(double)));
    there &= !!(s->given = calloc(size, sizeof(int))) & !!(s->heap = calloc(size, sizeof(int)));
    for (int kind = 0; kind < KINDS; kind++) {
        there &= !!(s->options[kind] = calloc(size, sizeof(Options)));
        there &= !!(s->stale[kind] = calloc(1, BYTES));
        for (int v = 0; s->stale[kind] && v < s->size; v++) put(s->stale[kind], v);
    }
    return there;
}

/* From the class in ``parts`` (flags: part, column, member; beside those of a class, what may be
   joined) to one that no step improves, nor any way on after an edge of a triangle is taken away. */
static void search(Search *s, char *parts) {
    const size_t size = (size_t)s->size, rows = PARTS * size;
    for (size_t row = 0; row < rows + size; row++)
        for (int v = 0; v < s->size; v++)
            if (parts[row * size + v])
                put(row < rows ? s->now + row * s->words : SET(s->possible, 0, row - rows), v);
    up(s);
    while (!s->failed && higher(s)) continue;
    for (size_t row = 0; row < rows; row++)
        for (int v = 0; v < s->size; v++) parts[row * size + v] = has(s->now + row * s->words, v);
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
            if (!reserve(&s)) s.failed = NO_MEMORY;
            s.thread = PyEval_SaveThread();
            if (!s.failed) search(&s, views[0].buf);
            PyEval_RestoreThread(s.thread);
            release(&s);
            if (s.failed == NO_MEMORY) PyErr_NoMemory();
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(s.failed == DONE);
}

static PyMethodDef functions[] = {{"climb", climb, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_climb", NULL, -1, functions};
PyMODINIT_FUNC PyInit__climb(void) { return PyModule_Create(&module); }
