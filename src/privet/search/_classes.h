/* Which steps from a class are valid, and where they lead to: ``classes.py`` and ``states.py``. */

#include "_sets.h"

/* Whether FRESH reaches the goal by edges of this part; SEEN is not entered. */
static int reaches(Search *s, int part, const Word *goal) {
    Word *fresh = HANDY(FRESH), *seen = HANDY(SEEN);
    for (int v = next(s, fresh, 0); v >= 0; v = next(s, fresh, 0)) {
        if (meet(s, fresh, goal)) return 1;
        drop(fresh, v);
        WORDS {
            Word new = SET(s->now, part, v)[w] & ~seen[w];
            fresh[w] |= new, seen[w] |= new;
        }
    }
    return 0;
}

/* Whether a semi-directed path, other than their edge, avoids BLOCKED. */
static int path(Search *s, int start, int goal) {
    Word *last = HANDY(ABOVE), *fresh = HANDY(FRESH), *seen = HANDY(SEEN);
    WORDS last[w] = SET(s->now, PARENTS, goal)[w] | SET(s->now, LINES, goal)[w];
    drop(last, start);
    WORDS fresh[w] = SET(s->now, ONWARD, start)[w] & ~HANDY(BLOCKED)[w];
    drop(fresh, goal);
    WORDS seen[w] = fresh[w] | HANDY(BLOCKED)[w];
    put(seen, start);
    WORDS last[w] &= ~HANDY(BLOCKED)[w];
    return !empty(s, last) && reaches(s, ONWARD, last);
}

static int line_turns(Search *s, int x, int y, const Word *clique) {
    Word *far = HANDY(FRESH), *seen = HANDY(SEEN), *left_out = HANDY(LEFT);
    const Word *joined = SET(s->now, JOINED, x);
    WORDS far[w] = clique[w] & ~joined[w];
    WORDS left_out[w] = SET(s->now, LINES, y)[w] & joined[w] & ~clique[w];
    WORDS seen[w] = clique[w];
    put(seen, x), put(seen, y);
    return !empty(s, far) && !reaches(s, LINES, left_out);
}

static int valid(Search *s, int kind, int x, int y, const Word *clique) {
    if (kind == DELETE) return 1;
    if (kind == TURN && has(SET(s->now, LINES, y), x)) return line_turns(s, x, y, clique);
    WORDS HANDY(BLOCKED)[w] = clique[w] | (kind == TURN ? SET(s->now, LINES, x)[w] : 0);
    return !path(s, y, x);
}

/* Whether v can come last in what is left of its chain component; one or two nodes are told which
   of their neighbours come before them. */
static int can_be_last(Search *s, int v, int told, const int *nodes, Word *const *above) {
    Word *around = HANDY(HAND), *left = HANDY(LEFT);
    WORDS around[w] = SET(s->now, LINES, v)[w] & left[w];
    for (int i = 0; i < told; i++)
        if (nodes[i] == v) return within(s, around, above[i], -1);
    for (int i = 0; i < told; i++)
        if (has(around, nodes[i]) && has(above[i], v)) return 0;
    EACH(u, around) {
        int free = 1;
        for (int i = 0; i < told; i++) free &= nodes[i] != u;
        if (free && !within(s, around, SET(s->now, LINES, u), u)) return 0;
    }
    return 1;
}

/* Gives the next class a DAG of this one in which these nodes have just these of their neighbours
   as parents; 0 if there is none. MOVED are the nodes that get other parents. */
static int reorder(Search *s, int told, const int *nodes, Word *const *above) {
    Word *left = HANDY(LEFT), *queued = HANDY(QUEUED), *ready = HANDY(FRESH);
    int settled = 1, v;
    for (int i = 0; i < told; i++) {
        const Word *dag = SET(s->now, DAG, nodes[i]), *lines = SET(s->now, LINES, nodes[i]);
        WORDS settled &= (dag[w] & lines[w]) == above[i][w];
    }
    if (settled) return 1;
    memset(ready, 0, BYTES), put(ready, nodes[0]);
    memcpy(HANDY(SEEN), ready, BYTES);
    memset(left, 0, BYTES), reaches(s, LINES, left);
    memcpy(left, HANDY(SEEN), BYTES); /* the chain component */
    memset(ready, 0, BYTES);
    EACH(u, left) if (can_be_last(s, u, told, nodes, above)) put(ready, u);
    memcpy(queued, ready, BYTES);
    while ((v = next(s, ready, 0)) >= 0) {
        Word *parents = SET(s->next, DAG, v);
        drop(ready, v), drop(left, v), put(HANDY(MOVED), v);
        WORDS parents[w] = SET(s->now, PARENTS, v)[w] | (SET(s->now, LINES, v)[w] & left[w]);
        EACH(u, SET(s->now, LINES, v))
            if (has(left, u) && !has(queued, u) && can_be_last(s, u, told, nodes, above))
                put(ready, u), put(queued, u);
    }
    return empty(s, left);
}

/* All parents of v, unless one is a child of all others and compelled by none but these: then
   those that are compelled there. */
static const Word *compelled(Search *s, int v) {
    const Word *above = SET(s->next, DAG, v);
    EACH(last, above)
        if (within(s, above, SET(s->next, DAG, last), last)) {
            const Word *inherited = SET(s->next, PARENTS, last);
            return within(s, inherited, above, -1) ? inherited : above;
        }
    return above;
}

/* Finds the compelled parents of the nodes in MOVED, and of all to which that makes a difference,
   which are put there. */
static void label(Search *s) {
    Word *todo = HANDY(TODO), *moved = HANDY(MOVED);
    int v;
    memcpy(todo, moved, BYTES);
    EACH(u, moved) WORDS todo[w] |= SET(s->next, JOINED, u)[w] & ~SET(s->next, DAG, u)[w];
    while ((v = next(s, todo, 0)) >= 0) {
        const Word *parents = compelled(s, v);
        drop(todo, v);
        if (!memcmp(parents, SET(s->next, PARENTS, v), BYTES)) continue;
        memcpy(SET(s->next, PARENTS, v), parents, BYTES), put(moved, v);
        WORDS todo[w] |= SET(s->next, JOINED, v)[w] & ~SET(s->next, DAG, v)[w];
    }
}

/* No mark of any of the others at v, and none of v at them; or such marks. */
static void mark(Search *s, int part, int v, const Word *others, int marked) {
    Word *own = SET(s->next, part, v);
    WORDS HANDY(TOUCHED)[w] |= others[w];
    WORDS own[w] = marked ? own[w] | others[w] : own[w] & ~others[w];
    EACH(u, others) {
        if (marked) put(SET(s->next, part, u), v);
        else drop(SET(s->next, part, u), v);
    }
}

/* The next class, from its DAG, in which the nodes in MOVED have other parents. */
static void change(Search *s) {
    Word *line = HANDY(HAND), *moved = HANDY(MOVED);
    EACH(v, moved) mark(s, JOINED, v, SET(s->now, DAG, v), 0);
    EACH(v, moved) mark(s, JOINED, v, SET(s->next, DAG, v), 1);
    label(s);
    EACH(v, moved) {
        mark(s, LINES, v, SET(s->now, DAG, v), 0);
        mark(s, ONWARD, v, SET(s->now, DAG, v), 0);
    }
    EACH(v, moved) {
        const Word *dag = SET(s->next, DAG, v);
        WORDS line[w] = dag[w] & ~SET(s->next, PARENTS, v)[w];
        mark(s, LINES, v, line, 1);
        WORDS SET(s->next, ONWARD, v)[w] |= line[w];
        EACH(u, dag) put(SET(s->next, ONWARD, u), v);
    }
}

/* Makes the next class the same as this one. */
static void restore(Search *s) {
    EACH(v, HANDY(TOUCHED))
        for (int part = 0; part < PARTS; part++)
            memcpy(SET(s->next, part, v), SET(s->now, part, v), BYTES);
    memset(HANDY(TOUCHED), 0, BYTES);
}

/* Makes the next class by a step; 0 if there is none. */
static int result(Search *s, int kind, int x, int y, const Word *clique) {
    const Word *lines = SET(s->now, LINES, y);
    Word *of_y = HANDY(GIVEN), *of_x = HANDY(ABOVE), *both[] = {of_y, of_x}, *own;
    int nodes[] = {y, x}, line = has(lines, x), done;
    restore(s);
    memset(HANDY(MOVED), 0, BYTES);
    memcpy(of_y, clique, BYTES);
    if (kind == DELETE && line) put(of_y, x);
    WORDS of_x[w] = clique[w] & SET(s->now, LINES, x)[w];
    if (kind == TURN && line) put(of_x, y);
    done = reorder(s, kind == TURN && line ? 2 : 1, nodes, both);
    if (done && kind == TURN && !line) done = reorder(s, 1, nodes + 1, both + 1);
    if (done) {
        own = SET(s->next, DAG, y), put(HANDY(MOVED), y);
        WORDS own[w] = SET(s->now, PARENTS, y)[w] | clique[w];
        if (kind == DELETE) drop(own, x);
        else put(own, x);
    }
    if (done && kind == TURN) {
        own = SET(s->next, DAG, x), put(HANDY(MOVED), x);
        WORDS own[w] = SET(s->now, PARENTS, x)[w] | of_x[w];
        drop(own, y);
    }
    if (done) change(s);
    WORDS HANDY(TOUCHED)[w] |= HANDY(MOVED)[w];
    return done;
}
