/*
 * Random actor programs: what their files share. A world is one system, with all that is known of
 * it: a record of each life, of each mail, of each promise and of each watch. None of them is used
 * again within a world, so that each thing that happens is checked against what must have happened
 * before it. What the actors do is drawn from the seed; in which order threads do it is not.
 */
#ifndef TEST_RANDOM_RANDOM_H
#define TEST_RANDOM_RANDOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <gyre/gyre.h>

#include "base/atomic.h"
#include "base/random.h"
#include "messages.h"

enum {
	LIVES_MAX = 320, /* 0 is nobody's */
	KNOWN = 40,
	NAMES = 6,
	GROUPS_MAX = 32, /* ever, in one world */
	GROUPS_OPEN = 4, /* that are written to at one time */
	TIMERS = 3,	 /* the last is the keepers' */
	PLEDGES_OF_STACK = 3,
	WATCHED_MAX = 10,
	STASHED_MAX = 12,
	FRONT_MAX = 64,
	OUTSIDERS = 2,
	POSTS_OUTSIDE = 2, /* that one thread may have out */
	LOOPS_MAX = 8,
	PINNED_MAX = 2,
	PLACES_MAX = LOOPS_MAX + PINNED_MAX,
	TOPICS = 4,
	SERVICES = 3,
	POOLS = 3,  /* for work off the loops; the first has no name */
	HEARD = 16, /* publishers of whom an actor knows what it has heard last */
};

/* ---- what is known ---- */

struct links;

/* All atomic but for what belongs to the life. */
struct life {
	uint32_t alive;
	uint32_t ended;
	uint32_t children;
	uint32_t doomed;    /* a stop of it was accepted */
	uint32_t lost_name; /* another has got its name, so it must have stopped */
	uint32_t pact;	    /* the life that it ends with; 0 for none */
	uint32_t holds;	    /* phases of the shutdown, a bit each */
	uint32_t settled;   /* the last round of calming down that it has handled the notice of */
	uint8_t class;
	struct gyre_address address;
	uint32_t sent[KINDS];	      /* the life's own */
	uint32_t forwarded[KINDS];    /* likewise */
	uint32_t published;	      /* likewise */
	uint32_t *seen[KINDS][LINES]; /* of each sender the last number; the life's own */
	uint8_t *told;		      /* of whose ends it was told; the life's own */
};

struct mail_record {
	uint32_t dispatched; /* atomic; since it was stashed last */
	uint32_t stashed;    /* atomic; how often */
	uint32_t owed;	     /* atomic; the life that gets it if it goes on; 0 for none */
	bool copied;	     /* each member of a group may get one */
	uint8_t via_group;   /* that it was forwarded to, counted from 1; 0 for none */
	uint32_t via;	     /* the life that has forwarded it last; 0 for none */
	uint32_t via_number; /* counted by that life, for each kind */
	uint32_t called_off; /* atomic; it was not sent, and must not be */
	uint32_t came;	     /* atomic; it was dispatched once */
	uint32_t dropped;    /* atomic; there cannot have been room for it */
	uint32_t after;	     /* it comes after that mail; 0 for none */
	uint32_t copies;     /* atomic; that came of what is sent in periods */
	uint64_t due_ns;     /* it is sent then */
	uint64_t period_ns;  /* and each time after that; 0 for once */
};

enum pledge_kind {
	PLEDGE_ASK,
	PLEDGE_SLEEP,
	PLEDGE_END,
	PLEDGE_WORK,
	PLEDGE_DIAL,
	PLEDGE_OUTSIDE,
};

struct pledge {
	enum pledge_kind kind;
	uint32_t owner;
	uint32_t whom; /* atomic: an ask is forwarded */
	uint64_t begun_ns;
	uint64_t time_ns; /* it may take; GYRE_FOREVER. The owner's alone of one that inherits */
	uint8_t pool;	  /* that does this work */
	uint8_t bond;	  /* of the actor of this connection with its channel */
	bool inherits;	  /* it was begun with time-out 0 */
	bool in_time;	  /* it has ended before that, so nothing of it can come late */
	bool cancelled;	  /* by its owner */
	uint32_t begun;	  /* atomic, as the rest */
	uint32_t ended;
	uint32_t answered;     /* how often an answer was accepted */
	uint32_t given_up;     /* nobody waits for it */
	uint64_t unawaited_ns; /* its handler first heard then that nobody waits; 0 for never */
	uint32_t thrown_by;    /* the life that has failed it with a message; 0 for none */
	uint32_t to_all;       /* it was forwarded to a group that sends to all */
};

enum watch_stage { WATCH_NONE, WATCH_ON, WATCH_OVER };

struct watch_record {
	uint32_t watcher;
	uint32_t watched;
	uint32_t stage; /* atomic, of enum watch_stage */
};

struct acquaintance {
	struct gyre_address address;
	uint32_t life;
};

/* Both atomic. */
struct pool {
	uint32_t busy; /* threads with a piece of work */
	uint32_t done; /* pieces that were begun */
};

struct group {
	struct gyre_address address;
	bool spawned;
	bool elastic;  /* it grows and shrinks */
	bool everyone; /* it routes to all */
	uint32_t ended;
	uint32_t joined; /* atomic */
	uint32_t born;	 /* atomic; of these, who were spawned into it and have never left it */
};

/* ---- what is drawn for a world ---- */

enum deed {
	DEED_NOTIFY,
	DEED_PARCEL,
	DEED_BULK,
	DEED_SELF_FIRST,
	DEED_PASS_ON,
	DEED_NOTIFY_GROUP,
	DEED_SPAWN,
	DEED_SPAWN_GROUP,
	DEED_WATCH,
	DEED_UNWATCH,
	DEED_PACT,
	DEED_STOP,
	DEED_POISON,
	DEED_GRACEFUL,
	DEED_STOP_SELF,
	DEED_UNSTASH,
	DEED_BECOME,
	DEED_NESTED,
	DEED_UNBECOME,
	DEED_REGISTER,
	DEED_UNREGISTER,
	DEED_LOOKUP,
	DEED_JOIN,
	DEED_LEAVE,
	DEED_SUBSCRIBE,
	DEED_UNSUBSCRIBE,
	DEED_PUBLISH,
	DEED_SERVE,
	DEED_SERVE_NO_MORE,
	DEED_PICK,
	DEED_WATCH_SERVICE,
	DEED_TIMER,
	DEED_TIMER_STOP,
	DEED_IDLE,
	DEED_IDLE_STOP,
	DEED_FLOOD,
	DEED_URGENT_PAIR,
	DEED_POST,
	DEED_CALL_OFF,
	DEED_HOLD,
	DEED_RELEASE,
	DEED_STREAM,
	DEED_DIAL,
	DEED_WRITE,
	DEED_HANG_UP,
	DEED_MOVE_OUT,
	DEED_FORWARD,
	DEED_BURN,
	DEED_ASK_AND_GO,
	DEED_CANCEL, /* where something is waited for */
	DEED_STASH,  /* these end the handler */
	DEED_FAIL,
	DEED_ASK, /* these wait */
	DEED_ASK_GROUP,
	DEED_SLEEP,
	DEED_AWAIT_END,
	DEED_WORK,
	DEED_AWAIT_DIAL,
	DEEDS,
};

/* Who turns the first loop. */
enum embedding {
	EMBEDDED_NOT,  /* a thread of its own */
	EMBEDDED_TIME, /* the driver, which waits in the call */
	EMBEDDED_POLL, /* the driver, only when the descriptor is readable */
	EMBEDDINGS,
};

struct plan {
	uint64_t seed;
	uint32_t loops;
	uint32_t steps;
	uint32_t outsiders;
	uint32_t pinned;  /* loops for one actor each */
	bool lean;	  /* allocations fail */
	bool resizing;	  /* loops come and go */
	bool abrupt;	  /* it is stopped in the midst of it */
	bool links;	  /* there are acceptors, and perhaps a socket for datagrams */
	uint8_t embedded; /* of enum embedding */
	uint64_t patience_ns;
	uint64_t tick_ns;
	uint32_t run_budget;
	uint32_t weights[DEEDS];
	uint32_t weights_sum;
};

struct world {
	struct plan plan;
	struct gyre_system *system;
	uint64_t begun_ns;   /* atomic; 0 while none runs */
	const char *doing;   /* atomic; what the driver is about */
	const char *differs; /* from what is known, when all else is calm */
	int64_t steps_left;  /* atomic */
	uint32_t closing;    /* atomic; nothing new is begun */
	uint32_t quiet;	     /* atomic; nothing moves any more */
	uint32_t stopped;    /* atomic; the system was told to stop */
	uint32_t outside;    /* atomic; threads outside that go on */
	uint32_t lives_count;
	uint32_t mails_count;
	uint32_t pledges_count;
	uint32_t watches_count;
	uint32_t groups_count;
	uint32_t mails_max;
	uint32_t pledges_max;
	uint32_t watches_max;
	uint32_t round;	  /* of calming down; the driver's own */
	uint32_t periods; /* atomic; notices that came by a timer with a period */
	uint64_t tokens;  /* atomic; that are out */
	uint64_t rumours; /* atomic; that were sent, and have neither come nor been lost */
	uint64_t flows;	  /* atomic; graphs of streams that have not ended */
	uint64_t lost[GYRE_DROP_COUNT];
	uint32_t names[NAMES];	     /* atomic; which life has it */
	uint32_t pinned[PINNED_MAX]; /* atomic; which life had it last */
	uint32_t pinned_tried;	     /* atomic; actors that have one of these, or are about to */
	struct life lives[LIVES_MAX];
	struct mail_record *mails;
	struct pledge *pledges;
	struct watch_record *watches;
	struct group groups[GROUPS_MAX];
	struct links *links;
	struct pool pools[POOLS];
	uint8_t open_groups[GROUPS_OPEN]; /* atomic; counted from 1 */
	pthread_mutex_t known_mutex;
	struct acquaintance known[KNOWN];
};

/* ---- what an actor keeps ---- */

struct queue_model {
	uint32_t count;
	uint32_t mails[FRONT_MAX];
};

struct watched {
	struct gyre_address address;
	uint32_t life;
	uint32_t record;
};

struct timer_model {
	bool on;
	bool once;
	uint64_t next_ns; /* not before */
	uint64_t period_ns;
};

struct heard {
	uint32_t from;
	uint32_t number;
};

enum phase { PHASE_MOUNT, PHASE_UP, PHASE_RESTART };

enum { BEHAVIOURS = 3 };

struct self {
	struct world *world; /* NULL until the mount */
	uint64_t random;
	uint32_t life;
	uint32_t parent;
	uint8_t depth;
	uint8_t class;
	bool keeper;
	bool stopped; /* by itself */
	enum phase phase;
	uint32_t barrier; /* the mail that keeps the others out; 0 for none */
	uint8_t behaviour;
	uint8_t nested[GYRE_NESTED_MAX];
	uint8_t nested_count;
	bool full;	 /* it was told that its mailbox is */
	uint32_t names;	 /* a bit each */
	uint32_t groups; /* a bit each */
	uint32_t meant;	 /* groups that it was ever in */
	uint8_t born_in; /* the group that it was spawned into, until it leaves it; 0 for none */
	uint32_t topics; /* a bit each */
	uint32_t topics_ever; /* likewise */
	uint32_t services;    /* a bit each */
	uint32_t listed;      /* services that it watches, likewise */
	uint64_t versions[SERVICES];
	struct heard heard[HEARD];
	uint64_t idle_ns;	  /* 0 for off */
	struct gyre_address pact; /* it ends with that one */
	uint32_t watched_count;
	struct watched watched[WATCHED_MAX];
	struct timer_model timers[TIMERS];
	uint32_t last_phase; /* of the shutdown, that it was told of; 0 for none */
	uint32_t told_phase; /* that it was told of, and holds */
	uint32_t post;	     /* the mail that a timer is to send; 0 for none */
	uint32_t link;	     /* whose actor it is, 0 for none; from before the mount on */
	uint32_t stashed_count;
	struct {
		uint32_t mail;
		enum kind kind;
	} stashed[STASHED_MAX];
	struct queue_model front[KINDS];
};

struct waiting {
	struct gyre_future future;
	uint32_t pledge; /* 0 for none */
	bool owning;	 /* the answer is */
	struct gyre_address address;
};

struct frame {
	uint32_t mail;
	uint32_t pledge; /* of the ask that is handled */
	bool wish;	 /* its answer owns something */
	bool replied;
	bool gone; /* the message was taken, moved out, forwarded or stashed */
	bool forwarded;
	bool stashed;
	bool fails; /* in the end */
	bool barrier;
	uint8_t count;
	uint8_t ended;
	uint8_t rounds;
	uint8_t ghosts; /* asks that it does not wait for */
	uint8_t wait;	/* of enum await */
	uint8_t phase;	/* of the shutdown, whose begin is handled */
	uint8_t named;	/* a bit for each of those that are waited for, where not for all */
	struct gyre_asked asked; /* the only member of a group, for a moment */
	struct waiting waiting[PLEDGES_OF_STACK];
};

/* What a handler waits for; also the state that its stack then has. */
enum await { AWAIT_NONE, AWAIT_ALL, AWAIT_ANY, AWAIT_NAMED_ALL, AWAIT_NAMED_ANY, AWAITS };

static inline struct self *self_of(struct gyre_stack *stack)
{
	return (struct self *)gyre_state(stack);
}

static inline struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* From 0 to below @limit. */
static inline uint32_t draw(uint64_t *random, uint32_t limit)
{
	return (uint32_t)(gy_random_next(random) >> 33) % limit;
}

static inline bool one_in(uint64_t *random, uint32_t count)
{
	return draw(random, count) == 0;
}

/* Whether it does it now, where it has a say beside the deeds that are drawn. */
static inline bool likes(struct self *self, enum deed deed)
{
	return self->world->plan.weights[deed] != 0 && one_in(&self->random, 3);
}

/* ---- trace.c ---- */

/* Ends the process with a report if @condition does not hold; @life is whom it is about. */
#define must(WORLD, LIFE, CONDITION, ...)                                                \
	((CONDITION) ? (void)0                                                           \
		     : violated((WORLD), (LIFE), PLACE_(__FILE__, __LINE__, #CONDITION), \
				" " __VA_ARGS__))
#define PLACE_(FILE, LINE, CONDITION)  PLACE__(FILE, LINE, CONDITION)
#define PLACE__(FILE, LINE, CONDITION) FILE ":" #LINE ": does not hold: " CONDITION

__attribute__((format(printf, 4, 5), noreturn)) void
violated(struct world *world, uint32_t life, const char *what, const char *format, ...);
/* @what: a word that stays; the numbers are printed with it. */
void trace(uint32_t life, const char *what, uint64_t a, uint64_t b);
void trace_begin(uint64_t seed);
void dump(struct world *world);
void log_line(const struct gyre_log_line *line, void *arg);

/* ---- world.c ---- */

/* What was done, for the record. */
struct tally {
	uint64_t steps;
	uint64_t sent;
	uint64_t spawned;
	uint64_t restarted;
	uint64_t stolen;
	uint64_t asks;
};

/* Plays one program. It returns when all has held; else the process ends. */
void play(const struct plan *plan, struct tally *tally);
/* Draws everything from the seed but what is given: 0 for to be drawn. */
struct plan plan_draw(uint64_t seed, uint32_t loops, uint32_t steps);
/* The world that is being played, for the watchdog; NULL for none. */
struct world *world_now(void);
/* Whether it has been played for longer than that. */
bool world_hangs(uint64_t limit_ns);
void set_doing(struct world *world, const char *what);

/* ---- driving.c ---- */

/* The driver's alone: it waits, and turns the first loop if no other thread does. */
void drive_ns(struct world *world, uint64_t ns);

/* ---- calm.c ---- */

/* Waits until all that was begun has ended, and looks at what is left. */
void calm_world(struct world *world);
/* Some may hold phases, and wait for others that have laid something aside. */
void settle_while_held(struct world *world);

/* ---- known.c ---- */

uint64_t now_ns(void);
struct token *token_get(struct world *world);
void token_put(struct token *token);
bool spend(struct world *world);
/* 0 when there are as many as there may be. */
uint32_t life_take(struct world *world);
struct acquaintance known_any(struct world *world, uint64_t *random);
struct acquaintance known_add(struct world *world, uint64_t *random, struct acquaintance one);
/* The record of a new promise; 0 for none. */
uint32_t pledge_begin(struct world *world, enum pledge_kind kind, uint32_t owner, uint32_t whom,
		      uint64_t time_ns);
/* Checks how it has ended. */
void pledge_end(struct world *world, uint32_t pledge, int error);
/* It was given up, and shows that at once. */
void pledge_cancelled(struct world *world, uint32_t pledge, int error);
/* @r: what the call for it returned. */
void pledge_refused(struct world *world, uint32_t pledge, int r);
/* The asker of what runs had @before_ns left before the call that was to begin it with time-out 0,
 * and @after_ns after it. */
void pledge_inherits(struct world *world, uint32_t pledge, uint64_t before_ns, uint64_t after_ns,
		     int r);
void pledge_answered(struct world *world, uint32_t pledge, uint32_t answer, uint32_t by);
uint32_t watch_begin(struct world *world, uint32_t watcher, uint32_t watched);
void watch_over(struct world *world, uint32_t record);
/* A group that is open, counted from 1; 0 for none. */
uint8_t group_any(struct world *world, uint64_t *random);
struct head head_make(struct world *world, uint32_t from, enum kind kind, uint16_t marks,
		      uint8_t group);
/* From now on @to must get it, if it goes on and its class takes whatever comes; 0 for nobody. */
void mail_owe(struct world *world, uint32_t mail, uint32_t to);
uint16_t marks_draw(uint64_t *random);
void doom(struct world *world, uint32_t life);

/* ---- expected.c ---- */

/* A message reaches its handler; all that can be said against it is checked. */
void expect_message(struct gyre_stack *stack, enum kind kind, const struct head *head,
		    struct gyre_address sender);
/* Whether an actor of the class gets every notice that reaches it. */
bool takes_all(uint8_t class);
/* Something else of the actor runs. */
void expect_alive(struct self *self);
void expect_event(struct gyre_stack *stack);
void expect_nothing_in(struct frame *frame, struct self *self);
void model_stashed(struct self *self, enum kind kind, uint32_t mail);
void model_unstash(struct self *self, uint32_t count);
void model_put_first(struct self *self, enum kind kind, uint32_t mail);
void model_restarted(struct self *self);
void model_forget_watched(struct self *self, uint32_t at);
/* The time that the asker has left, and whether it waits; of asks and batches when they come, and
 * of all that runs. */
void expect_time_left(struct gyre_stack *stack);
const struct head *head_of(struct gyre_stack *stack);
const struct head *batch_head(struct gyre_stack *stack, uint32_t index);
/* Of the ask that is there; 0 for none. */
uint32_t pledge_of(struct gyre_stack *stack);
uint32_t batch_pledge(struct gyre_stack *stack, uint32_t index);
void fill_words(uint64_t *words, uint32_t count, uint64_t value);

/* ---- deeds.c ---- */

/* Does some things. Whether it has begun something to wait for. */
bool act(struct gyre_stack *stack, bool message, enum kind kind, int *ret_error);
/* What a handler of a pipeline may do as well as its actor. */
void act_in_pipeline(struct gyre_stack *stack);
/* When nothing new is begun any more. */
void calm_down(struct gyre_stack *stack);

/* ---- spawning.c ---- */

uint32_t first_pinned(const struct world *world);
/* @ret_name: counted from 1; 0 for none. */
struct gyre_spawn_options draw_options(struct world *world, uint64_t *random, uint8_t *ret_name);
/* Before and after the call. */
void spawn_begins(struct world *world, const struct gyre_spawn_options *options);
void expect_spawned(struct world *world, uint32_t life, const struct gyre_spawn_options *options,
		    int r, struct gyre_address address);
/* In the mount of what was spawned. */
void expect_place(struct world *world, uint32_t life, const struct birth *birth,
		  struct gyre_address self);
void expect_first_name(struct gyre_stack *stack, uint8_t name);
/* When all is calm: each loop for one actor that is free must be had, and no other. */
void fill_pinned(struct world *world, uint64_t limit_ns);
void spawn(struct gyre_stack *stack);
void spawn_group(struct gyre_stack *stack);

/* ---- naming.c ---- */

extern const char *const names_known[NAMES];
void name_is_taken(struct self *self, uint32_t number);
void register_name(struct gyre_stack *stack);
void unregister_name(struct gyre_stack *stack);
void look_up(struct gyre_stack *stack);
void join(struct gyre_stack *stack, bool leaves);
void notify_group(struct gyre_stack *stack);
bool ask_group(struct gyre_stack *stack);

/* ---- publishing.c ---- */

void subscribe(struct gyre_stack *stack);
void unsubscribe(struct gyre_stack *stack);
void publish(struct gyre_stack *stack);
/* One copy of one has come, or is lost. */
void rumour_ends(struct world *world);
void expect_rumour(struct self *self, const struct rumour *rumour);
void expect_missed(struct self *self, const struct gyre_events_missed *missed);

/* ---- serving.c ---- */

void join_service(struct gyre_stack *stack);
void leave_service(struct gyre_stack *stack);
void pick_service(struct gyre_stack *stack);
void watch_service(struct gyre_stack *stack);
void expect_listing(struct self *self, const struct gyre_listing *listing);
/* All actors have ended. */
void expect_no_service(struct world *world);

/* ---- streaming.c ---- */

void start_stream(struct gyre_stack *stack);
bool streams_have_ended(struct world *world);

/* ---- linking.c ---- */

struct dial;

void make_links(struct world *world, uint64_t *random);
/* In a mount: whether it is that of an actor of a channel, and of which birth. */
bool linked_birth(struct gyre_stack *stack, struct birth *ret_birth);
void link_is_mounted(struct self *self);
void link_is_cleaned(struct self *self);
/* Writes to its channel, or ends it, if the actor has one. */
void use_channel(struct gyre_stack *stack, bool hangs_up);
void close_channel(struct gyre_stack *stack);
/* What a connector is told; NULL if it is enough, or there is nobody to connect to. */
struct dial *take_dial(struct self *self);
uint8_t bond_of(const struct dial *dial);
int dial(struct gyre_stack *stack, struct dial *dial, struct gyre_address *ret_socket,
	 struct gyre_future *ret_future);
void dial_and_go(struct gyre_stack *stack);
void expect_connected(struct self *self, const struct waiting *one);
bool links_have_settled(struct world *world);
/* The system has ended. */
void expect_no_link(struct world *world);

/* ---- sending.c ---- */

/* Of a group, and of who was found by a name, the life is not known: 0. */
void send_letter(struct gyre_stack *stack, struct acquaintance to, uint8_t group);
void send_parcel(struct gyre_stack *stack, struct acquaintance to);
void send_bulk(struct gyre_stack *stack, struct acquaintance to);
void send_self_first(struct gyre_stack *stack);
void pass_on(struct gyre_stack *stack, struct acquaintance to);
void move_out(struct gyre_stack *stack, enum kind kind);
int answer(struct gyre_stack *stack);
/* Fails the ask that is handled, and was not answered, with a message. */
int complain(struct gyre_stack *stack);

/* ---- forwarding.c ---- */

/* Forwards the message; when it is gone or answered, it must be refused. */
void forward(struct gyre_stack *stack, enum kind kind);
void forward_of_batch(struct gyre_stack *stack, enum kind kind, uint32_t index);

/* ---- working.c ---- */

extern const struct gyre_offload_pool pools_named[POOLS - 1];
/* The threads of the pool, counted from 0, which has no name. */
uint32_t pool_threads(uint32_t number);
/* Has one of the pools do what @mail asks for, or one that there is not: -ENOENT. */
int work_off(struct gyre_stack *stack, uint32_t pledge, struct gyre_mail *mail,
	     struct gyre_future *ret_future);
/* When all have ended: each pool has done its own work, and none of another's. */
void expect_worked(struct world *world);

/* ---- waiting.c ---- */

/* Begins to wait for something; false if it could not. */
bool await_ask(struct gyre_stack *stack, struct acquaintance to, uint8_t group);
bool await_sleep(struct gyre_stack *stack);
bool await_end(struct gyre_stack *stack, struct acquaintance whom);
bool await_work(struct gyre_stack *stack);
bool await_dial(struct gyre_stack *stack);
void ask_and_go(struct gyre_stack *stack, struct acquaintance to);
/* Waits for what was begun: all, any, or some of it. What the handler must return. */
int wait_for_some(struct gyre_stack *stack);
/* Looks at what has come, and may give up what has not. Whether nothing is left to wait for. */
bool settle(struct gyre_stack *stack);
/* May give up some of what was begun; looks at each that it has given up. */
void cancel_some(struct gyre_stack *stack);

/* ---- actors.c ---- */

enum { CLASSES = 11 };

extern const struct gyre_class classes[CLASSES];
/* Actors without a parent are of no class that leaves its failures to one. */
uint8_t draw_class(uint64_t *random, bool orphan);
extern const struct gyre_behaviour behaviours[CLASSES][BEHAVIOURS];

/* ---- outside.c ---- */

struct outsider {
	struct world *world;
	uint64_t random;
	uint32_t life;
	uint32_t callbacks;	       /* atomic; that are to come */
	uint32_t posts[POSTS_OUTSIDE]; /* the mails that are sent later; 0 for none */
	pthread_t thread;
};

void *outsider_run(void *arg);
/* @r: what a call for the system has returned. */
void check_result(struct outsider *outsider, int r);
void pause_ns(uint64_t ns);

/* ---- holds.c ---- */

void hold(struct gyre_stack *stack);
void release(struct gyre_stack *stack);
void model_lets_go(struct self *self);
/* Whether an actor that goes on holds any. */
bool phases_are_held(const struct world *world);
/* In the last call of an actor. */
void expect_no_phase(struct self *self);
void expect_stopping(struct gyre_stack *stack, const struct gyre_stopping *stopping);
/* The handler of that event: it goes on for a while, and lets go. */
int hold_on(struct gyre_stack *stack);
/* How an ask has ended of one that holds a phase. */
void expect_present(struct self *self, uint32_t pledge, int error);

/* ---- flood.c ---- */

/* Sends itself more than may wait, where the class drops some of it. */
void flood(struct gyre_stack *stack);
void send_urgent_pair(struct gyre_stack *stack);
void expect_room(struct self *self, const struct head *head);

/* ---- timed.c ---- */

/* Sends a notice later, in the place of the one that was to be sent. */
void post(struct gyre_stack *stack, struct acquaintance to);
void call_off(struct gyre_stack *stack);
/* The timer has ended, whatever it has sent. */
void model_post_ended(struct self *self);
/* The notice of a timer has come. */
void expect_in_time(struct self *self, const struct head *head);
void post_outside(struct outsider *outsider, struct acquaintance to);
int call_off_outside(struct outsider *outsider, uint32_t index);
/* What comes again and again. */
void call_all_off(struct outsider *outsider);
/* Whether none comes again and again any more. */
bool periods_are_over(struct world *world);

#endif
