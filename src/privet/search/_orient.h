/* Arrows from weighed colliders: ``Orientation`` in ``colliders.py``, which says what is done and
   why. Arrow 2 e is edge e one way, 2 e + 1 the other. */

#include "_sets.h"

typedef struct { int first, second; int64_t weight; } Triple; /* two arrows to one column */
typedef struct { int arrow; int64_t weight; } Other;
typedef struct { int64_t weight; int at; } Heavy; /* a triple by its place */

typedef struct {
    int size, words, edges, triples, starts, wanted;
    int *tails, *heads;          /* of each arrow */
    int *slots;                  /* [i, j]: the arrow from i to j */
    Triple *triple;              /* all of them */
    Heavy *order;                /* those that are wanted, the heaviest first */
    int *from;                   /* where the others of an arrow begin */
    Other *others;               /* with which it would be in a collider */
    int *arrow;                  /* of each edge, the one that is drawn */
    int64_t *gains, value, bound; /* of turning each edge; of all colliders */
    char *refused;
    const char *may_turn;        /* of each arrow; NULL: all may be turned */
    int *place;                  /* of each column in an order */
    Word *parents, *best, *fresh, *seen;
    const int64_t *orders;       /* of the columns, to start from */
} Drawn;

#define PARENTS_OF(d, v) ((d)->parents + (size_t)(v) * (d)->words)

static int first_of(const Word *set, int words) {
    for (int w = 0; w < words; w++)
        if (set[w]) return w * WORD + lowest(set[w]);
    return -1;
}

/* Allowed, and no other path leads from its tail to its head. */
static int can_turn(Drawn *d, int arrow) {
    const int tail = d->tails[arrow];
    if (d->may_turn && !d->may_turn[arrow]) return 0;
    memcpy(d->fresh, PARENTS_OF(d, d->heads[arrow]), d->words * sizeof(Word));
    drop(d->fresh, tail);
    memcpy(d->seen, d->fresh, d->words * sizeof(Word));
    for (int v; (v = first_of(d->fresh, d->words)) >= 0;) {
        const Word *above = PARENTS_OF(d, v);
        if (has(above, tail)) return 0;
        drop(d->fresh, v);
        for (int w = 0; w < d->words; w++) {
            const Word fresh = above[w] & ~d->seen[w];
            d->seen[w] |= fresh, d->fresh[w] |= fresh;
        }
    }
    return 1;
}

static void turn_arrow(Drawn *d, int arrow) {
    const int tail = d->tails[arrow], head = d->heads[arrow], at = arrow >> 1;
    d->value += d->gains[at], d->gains[at] = -d->gains[at];
    drop(PARENTS_OF(d, head), tail), put(PARENTS_OF(d, tail), head);
    d->arrow[at] = arrow ^ 1;
    for (int side = 0; side < 2; side++)
        for (int i = d->from[arrow ^ side]; i < d->from[(arrow ^ side) + 1]; i++) {
            const Other other = d->others[i];
            const int drawn = d->arrow[other.arrow >> 1] == other.arrow;
            d->gains[other.arrow >> 1] += drawn == !side ? other.weight : -other.weight;
        }
}

/* Turns the edge that gains most of those that can be turned; 0 if there is none. */
static int best_turn(Drawn *d) {
    memset(d->refused, 0, d->edges);
    for (;;) {
        int best = -1;
        for (int e = 0; e < d->edges; e++)
            if (d->gains[e] > (best < 0 ? 0 : d->gains[best]) && !d->refused[e]) best = e;
        if (best < 0) return 0;
        if (can_turn(d, d->arrow[best])) return turn_arrow(d, d->arrow[best]), 1;
        d->refused[best] = 1;
    }
}

/* Turns the two arrows that a wanted collider lacks, if that pays. */
static int best_collider(Drawn *d) {
    for (int i = 0; i < d->wanted; i++) {
        const Triple *one = d->triple + d->order[i].at;
        const int s = one->first ^ 1, t = one->second ^ 1;
        if (d->arrow[s >> 1] != s || d->arrow[t >> 1] != t) continue;
        if (d->gains[s >> 1] + d->gains[t >> 1] + one->weight > 0 && can_turn(d, s)) {
            turn_arrow(d, s);
            if (can_turn(d, t)) return turn_arrow(d, t), 1;
            turn_arrow(d, s ^ 1);
        }
    }
    return 0;
}

/* All arrows as an order of the columns has them. */
static void begin(Drawn *d, const int64_t *order, int *place) {
    memset(d->parents, 0, (size_t)d->size * d->words * sizeof(Word));
    for (int i = 0; i < d->size; i++) place[order[i]] = i;
    for (int e = 0; e < d->edges; e++) {
        d->arrow[e] = 2 * e + (place[d->tails[2 * e]] > place[d->heads[2 * e]]);
        put(PARENTS_OF(d, d->heads[d->arrow[e]]), d->tails[d->arrow[e]]);
    }
    memset(d->gains, 0, d->edges * sizeof(int64_t));
    d->value = 0;
    for (int i = 0; i < d->triples; i++) {
        const Triple one = d->triple[i];
        const int s = d->arrow[one.first >> 1] == one.first;
        const int t = d->arrow[one.second >> 1] == one.second;
        if (s && t) d->value += one.weight;
        if (t) d->gains[one.first >> 1] += s ? -one.weight : one.weight;
        if (s) d->gains[one.second >> 1] += t ? -one.weight : one.weight;
    }
}

static int heavier(const void *one, const void *other) {
    const Heavy *a = one, *b = other;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* Lists what the triples mean for each arrow, and those that are wanted. */
static void index_triples(Drawn *d) {
    int *from = d->from;
    memset(from, 0, (2 * d->edges + 2) * sizeof(int));
    d->wanted = 0, d->bound = 0;
    for (int i = 0; i < d->triples; i++) {
        const Triple one = d->triple[i];
        from[one.first + 2]++, from[one.second + 2]++;
        if (one.weight > 0) d->order[d->wanted++] = (Heavy){one.weight, i}, d->bound += one.weight;
    }
    for (int slot = 2; slot < 2 * d->edges + 2; slot++) from[slot] += from[slot - 1];
    for (int i = 0; i < d->triples; i++) { /* from[slot + 1] moves on to where the next begins */
        const Triple one = d->triple[i];
        d->others[from[one.first + 1]++] = (Other){one.second, one.weight};
        d->others[from[one.second + 1]++] = (Other){one.first, one.weight};
    }
    qsort(d->order, d->wanted, sizeof(Heavy), heavier);
}

/* ``best`` are the parents in the best DAG that a climb from one of the orders leads to. */
static void draw(Drawn *d) {
    int64_t most = INT64_MIN;
    index_triples(d);
    for (int start = 0; start < (d->triples ? d->starts : 1); start++) {
        begin(d, d->orders + (size_t)start * d->size, d->place);
        while (best_turn(d) || best_collider(d)) continue;
        if (d->value > most) {
            most = d->value;
            memcpy(d->best, d->parents, (size_t)d->size * d->words * sizeof(Word));
        }
        if (most == d->bound) return;
    }
}

/* Room for a skeleton of so many edges at most; triples, ``order`` and ``others`` come apart. */
static int reserve_arrows(Drawn *d, size_t edges) {
    const size_t size = (size_t)d->size, set = d->words * sizeof(Word);
    int there = !!(d->tails = calloc(2 * edges + 1, sizeof(int)));
    there &= !!(d->heads = calloc(2 * edges + 1, sizeof(int)));
    there &= !!(d->place = calloc(size, sizeof(int)));
    there &= !!(d->from = calloc(2 * edges + 2, sizeof(int)));
    there &= !!(d->arrow = calloc(edges + 1, sizeof(int)));
    there &= !!(d->refused = calloc(edges + 1, 1));
    there &= !!(d->gains = calloc(edges + 1, sizeof(int64_t)));
    there &= !!(d->parents = calloc(size, set)) & !!(d->best = calloc(size, set));
    return there & !!(d->fresh = calloc(1, set)) & !!(d->seen = calloc(1, set));
}

static void release_arrows(Drawn *d) {
    free(d->tails), free(d->heads), free(d->place), free(d->from), free(d->arrow);
    free(d->refused), free(d->gains), free(d->parents), free(d->best), free(d->fresh);
    free(d->seen), free(d->triple), free(d->order), free(d->others);
}
