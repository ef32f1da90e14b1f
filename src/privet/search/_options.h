/* The steps from a class, best first, kept from step to step: ``options.py``. What a step is worth
   is left to who includes this file. */

#include "_classes.h"

/* What x adds to y beside some columns, which ``look`` was told, where it may be inserted; and what
   it adds beside others. Not a number: nobody knows yet. */
static void look(Search *s, int y, const Word *given);
static double insertion(Search *s, int x, int y);
static double gain(Search *s, int x, int y, const Word *given);
/* Lists the steps of this kind to the columns in ``stale``. */
static void weigh(Search *s, int kind);

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

static int improves(double worth) { return worth * GRAIN > 0.5 && worth < HUGE_VAL; }

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

/* LEFT: the columns that may be inserted above y. Where there are limits, those within them, and
   what is joined to a neighbour. */
static void sources(Search *s, int y) {
    Word *left = HANDY(LEFT);
    memcpy(left, SET(s->possible, 0, y), BYTES);
    if (s->limits) {
        memcpy(HANDY(ABOVE), SET(s->limits, 0, y), BYTES);
        EACH(v, SET(s->now, JOINED, y)) WORDS HANDY(ABOVE)[w] |= SET(s->now, JOINED, v)[w];
        WORDS left[w] &= HANDY(ABOVE)[w];
    }
    WORDS left[w] &= ~SET(s->now, JOINED, y)[w];
}

static void inserts(Search *s, Options *o, int y) {
    const Word *parents = SET(s->now, PARENTS, y), *lines = SET(s->now, LINES, y);
    cliques(s, o, NULL, lines);
    sources(s, y);
    for (int at = 0; at < o->sets && !s->failed; at++) {
        const Word *clique = o->cliques + (size_t)at * s->words;
        if (!beside(s, parents, clique)) continue;
        look(s, y, HANDY(GIVEN));
        for (int x = next(s, HANDY(LEFT), 0); x >= 0 && !s->failed;
             x = next(s, HANDY(LEFT), x + 1)) {
            const Word *joined = SET(s->now, JOINED, x);
            Word common = 0;
            WORDS common |= lines[w] & joined[w] & ~clique[w];
            if (common) continue;
            double worth = insertion(s, x, y);
            if (improves(worth)) offer(s, o, worth, x, y, at);
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
            if (all || improves(worth)) offer(s, o, worth, x, y, at);
        }
    }
}

static void turns(Search *s, Options *o, int y) {
    const Word *lines = SET(s->now, LINES, y);
    EACH(x, SET(s->now, ONWARD, y)) {
        int line = has(lines, x);
        if (s->failed) return;
        if (has(SET(s->turned, 0, y), x)) continue;
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
            if (improves(worth)) offer(s, o, worth, x, y, at);
        }
    }
}

static void list(Search *s, int kind, int y) {
    Options *o = &s->options[kind][y];
    o->count = o->sets = 0;
    if (kind == INSERT) inserts(s, o, y);
    else if (kind == DELETE) deletes(s, o, y, 0);
    else turns(s, o, y);
    sort(o);
}

/* --- the best of them ------------------------------------------------------------------------- */

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
        if (!memcmp(SET(old, JOINED, v), SET(new, JOINED, v), BYTES)) continue;
        for (int kind = 0; kind < KINDS; kind++) {
            const int part = kind == INSERT && s->limits ? JOINED : LINES;
            WORDS s->stale[kind][w] |= SET(new, part, v)[w];
        }
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

/* Takes the best valid step of this kind; nothing is worth 0. */
static Option step(Search *s, int kind) {
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
            return best;
        }
        if (o->at == o->count) s->heap[0] = s->heap[--count];
        sift(s, of, count, 0);
    }
    return (Option){0};
}

/* --- memory ----------------------------------------------------------------------------------- */

static void release(Search *s) {
    for (int kind = 0; kind < KINDS; kind++) {
        for (int y = 0; s->options[kind] && y < s->size; y++)
            free(s->options[kind][y].all), free(s->options[kind][y].cliques);
        free(s->options[kind]), free(s->stale[kind]);
    }
    free(s->heap), free(s->now), free(s->next), free(s->possible), free(s->turned);
    free(s->hands);
}

static int reserve(Search *s) {
    const size_t size = (size_t)s->size, class = PARTS * size;
    int there = 1;
    s->words = (s->size + WORD - 1) / WORD, s->apart[0] = s->apart[1] = -1;
    there &= !!(s->now = calloc(class, BYTES)) & !!(s->next = calloc(class, BYTES));
    there &= !!(s->hands = calloc(HANDS, BYTES)) & !!(s->possible = calloc(size, BYTES));
    there &= !!(s->turned = calloc(size, BYTES)) & !!(s->heap = calloc(size, sizeof(int)));
    for (int kind = 0; kind < KINDS; kind++) {
        there &= !!(s->options[kind] = calloc(size, sizeof(Options)));
        there &= !!(s->stale[kind] = calloc(1, BYTES));
        for (int v = 0; s->stale[kind] && v < s->size; v++) put(s->stale[kind], v);
    }
    return there;
}

/* Some sets, each a row of flags, and flags of sets. */
static void set_up(Search *s, const char *flags, size_t count, Word *sets) {
    for (size_t row = 0; row < count; row++)
        for (int v = 0; v < s->size; v++)
            if (flags[row * s->size + v]) put(sets + row * s->words, v);
}

static void spell(Search *s, const Word *sets, size_t count, char *flags) {
    for (size_t row = 0; row < count; row++)
        for (int v = 0; v < s->size; v++) flags[row * s->size + v] = has(sets + row * s->words, v);
}
