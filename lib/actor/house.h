/*
 * The house: the runtime's cell round an actor. It holds the lanes of the mailbox, the state of the
 * actor, and the facts by which dispatch decides.
 *
 * Only the loop that a house lives on touches it. Two parts are open to other threads: the cookie,
 * and the table of slots, from which any thread may reserve a house before it is mounted (slots.c).
 */
#ifndef GY_ACTOR_HOUSE_H
#define GY_ACTOR_HOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "actor/mail/mail.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/table.h"
#include "loop/queue.h"

struct gy_class_info;
struct gy_family;
struct gy_home;
struct gy_house_extra;
struct gyre_behaviour;

/* ---- the status ---- */

enum gy_house_status {
	GY_HOUSE_FREE,
	GY_HOUSE_CREATED,  /* reserved: mail may come, nothing runs */
	GY_HOUSE_MOUNTING, /* in the mounting queue */
	GY_HOUSE_WAITING,
	GY_HOUSE_READY, /* in the channels or the state queue */
	/* Out of the queue. At home the house passes through it when a run begins; one that stays
	 * in it is sealed, and may be run by a thief: see steal_actor.c. */
	GY_HOUSE_SCHEDULED,
	GY_HOUSE_RUNNING,
	GY_HOUSE_STOPPING, /* its channels and children end */
	GY_HOUSE_STATUSES,
};

/* ---- lanes that are closed ---- */

/* Pending work, a bit each: the lanes, and work of the channel floor. */
enum { GY_PENDING_CHANNELS = 1 << GY_LANES };

/*
 * Why lanes are closed: reasons, a bit each. The lanes that do not run follow from them by the
 * table in house.c, so that each reason comes and goes without a look at the others.
 */
enum gy_closed_reason {
	GY_CLOSED_BY_BARRIER = 1 << 0,	      /* the stack of a barrier waits */
	GY_CLOSED_BY_GRACEFUL_STOP = 1 << 1,  /* a graceful stop lets suspended stacks end */
	GY_CLOSED_BY_HOOK = 1 << 2,	      /* a mount or a restart hook waits */
	GY_CLOSED_BY_RESTART = 1 << 3,	      /* a restart is due, or delayed */
	GY_CLOSED_BY_FIRST_ASK = 1 << 4,      /* an ask was put first, until the end of the run */
	GY_CLOSED_BY_FIRST_NOTICE = 1 << 5,   /* likewise a notice */
	GY_CLOSED_BY_EVENT_MEMORY = 1 << 6,   /* an event waits for memory, for a moment */
	GY_CLOSED_BY_WORK_MEMORY = 1 << 7,    /* work of the channel floor waits for memory */
	GY_CLOSED_BY_STOP = 1 << 8,	      /* the actor stops; never removed */
	GY_CLOSED_BY_FAILURE = 1 << 9,	      /* a failure that the parent decides about */
	GY_CLOSED_BY_NOTICE_MEMORY = 1 << 10, /* a notice that is kept waits for memory */
	GY_CLOSED_REASONS = (1 << 11) - 1,
	GY_CLOSED_BY_FIRST = GY_CLOSED_BY_FIRST_ASK | GY_CLOSED_BY_FIRST_NOTICE,
	GY_CLOSED_BY_NO_MEMORY =
		GY_CLOSED_BY_EVENT_MEMORY | GY_CLOSED_BY_WORK_MEMORY | GY_CLOSED_BY_NOTICE_MEMORY,
};

/* Lanes and work that do not run for any of @reasons, a bit each as in gy_house.pending. */
uint8_t gy_house_lanes_of(uint32_t reasons);

/* ---- the house ---- */

struct gy_house {
	struct gy_job job;
	struct gy_node *lanes[GY_LANES]; /* each the last of a ring, NULL when empty */
	/* Dispatch compares these four at once: see gy_house_is_plainly(). */
	uint8_t pending; /* lanes and work that wait, a bit each */
	uint8_t status;	 /* enum gy_house_status */
	uint8_t closed;	 /* those that do not run at present; follows from @reasons */
	bool plain;	 /* the class is, and a run has nothing else to do than its mail */
	/* Of @waiting; 0: no limit, and @waiting is not counted. A house that stops has one,
	 * whatever its class says: so mail takes the way on which it is refused, see
	 * gy_send_bounded(). */
	uint32_t limit;
	struct gy_origin self; /* by which senders know the house: see gy_house_is_named() */
	uint32_t replies;      /* waiting, exceptions included */

	union {
		struct gyre_mail *argument; /* until the house is mounted; may be NULL */
		void *state;		    /* from then on; NULL if the class has none */
	};
	const struct gyre_behaviour *behaviour;
	struct gy_class_info *class_info;
	struct gy_home *home;
	struct gy_house *recent; /* of this home, to which the actor sent last; or itself */
	uint64_t asks;		 /* how many the actor has made */
	uint32_t outstanding;	 /* promises, of asks and sleeps */

	uint32_t events;
	uint32_t waiting; /* asks and notices; read from any thread */
	bool channels_actor;
	bool high;	       /* its priority in the queue of the loop */
	uint8_t passed_over;   /* lanes that the next pass leaves out, and GY_ENDS_HELD */
	bool above_mark;       /* the actor was told so by gyre_mailbox_mark */
	bool stop_at_home;     /* an order to stop came while the house was away */
	bool is_root;	       /* its children stand below a root in paths; see path.h */
	uint16_t reasons;      /* why lanes are closed; see gy_house_add_reason() */
	uint32_t next_sibling; /* slots, in the ring of the family */
	uint32_t previous_sibling;
	uint32_t number;	      /* among its parent's children, from 1 */
	struct gy_list suspended;     /* stacks */
	struct gy_house_extra *extra; /* NULL until something there is needed */
	struct gyre_mail *sealed;     /* the mail that a thief is to run; see steal_actor.c */
	struct gy_family *family;     /* that it is a child in, of a parent or of a root */
} GY_ALIGNED_LINE;		      /* senders touch the first line only */

_Static_assert(sizeof(struct gy_house) <= 192, "a million idle actors must stay under 300 MB");

/* ---- steps ---- */

/* The statuses from which a house may go to @to, a bit each. */
static inline uint32_t gy_house_status_before(enum gy_house_status to)
{
	switch (to) {
	case GY_HOUSE_FREE: /* from CREATED: it was refused after all */
		return 1U << GY_HOUSE_CREATED | 1U << GY_HOUSE_STOPPING;
	case GY_HOUSE_CREATED:
		return 1U << GY_HOUSE_FREE;
	case GY_HOUSE_MOUNTING:
		return 1U << GY_HOUSE_CREATED;
	case GY_HOUSE_WAITING:
		return 1U << GY_HOUSE_MOUNTING | 1U << GY_HOUSE_RUNNING;
	case GY_HOUSE_READY: /* from SCHEDULED: no thief came */
		return 1U << GY_HOUSE_WAITING | 1U << GY_HOUSE_SCHEDULED;
	case GY_HOUSE_SCHEDULED:
		return 1U << GY_HOUSE_READY;
	case GY_HOUSE_RUNNING:
		return 1U << GY_HOUSE_SCHEDULED;
	case GY_HOUSE_STOPPING:
		return 1U << GY_HOUSE_RUNNING;
	case GY_HOUSE_STATUSES:
		break;
	}
	return 0;
}

static inline bool gy_house_status_is_allowed(enum gy_house_status from, enum gy_house_status to)
{
	return (gy_house_status_before(to) >> from & 1U) != 0;
}

/* Ends the program: names the house, its state, and the step that the table does not have. */
_Noreturn GY_COLD void gy_house_step_refused(const struct gy_house *house, enum gy_house_status to);

/* The only function that changes a status. */
static inline void gy_house_set_status(struct gy_house *house, enum gy_house_status to)
{
#if GY_ASSERT_LEVEL >= 1
	if (gy_unlikely(!gy_house_status_is_allowed((enum gy_house_status)house->status, to))) {
		gy_house_step_refused(house, to);
	}
#endif
	house->status = (uint8_t)to;
}

/* Closes the lanes of reasons that come, and opens those of reasons that go, if no other keeps them
 * closed. A stop is never removed. The caller readies a house that may run again. */
void gy_house_add_reason(struct gy_house *house, uint32_t reasons);
void gy_house_remove_reason(struct gy_house *house, uint32_t reasons);

/* Bytes for gy_house_describe() with all reasons, and the NUL. */
enum { GY_HOUSE_TEXT_BYTES = 256 };

/* "waiting", or "running, closed by a barrier, a restart"; returns @text. */
const char *gy_house_describe(const struct gy_house *house, char text[GY_HOUSE_TEXT_BYTES]);

/*
 * Asserts what holds of a house between two runs, on its own loop: its lanes, its counts, its
 * reasons, its suspended stacks. Takes time in proportion to what waits.
 */
void gy_house_check(const struct gy_house *house);

/* ---- questions ---- */

/* Whether another loop may run the house: then only its lanes may be touched. On its own loop. */
static inline bool gy_house_is_away(const struct gy_house *house)
{
	return house->status == GY_HOUSE_SCHEDULED;
}

/* Whether a house that was found takes mail: it has an actor that does not stop, or will have one.
 * An address that another node made up may name a slot that nobody has yet. */
static inline bool gy_house_is_occupied(const struct gy_house *house)
{
	return house->status != GY_HOUSE_FREE && house->status != GY_HOUSE_STOPPING;
}

/* Whether something waits that may run. */
static inline bool gy_house_can_run(const struct gy_house *house)
{
	return (house->pending & ~house->closed) != 0;
}

static inline bool gy_house_is_stopped(const struct gy_house *house)
{
	return (house->reasons & GY_CLOSED_BY_STOP) != 0;
}

_Static_assert(offsetof(struct gy_house, status) == offsetof(struct gy_house, pending) + 1 &&
		       offsetof(struct gy_house, closed) ==
			       offsetof(struct gy_house, pending) + 2 &&
		       offsetof(struct gy_house, plain) == offsetof(struct gy_house, pending) + 3,
	       "compared as one");

/*
 * Whether a plain house is at @status with @pending work and no lane closed: one comparison for the
 * four, for the runs that are most frequent.
 */
static inline bool gy_house_is_plainly(const struct gy_house *house, enum gy_house_status status,
				       uint32_t pending)
{
	const uint8_t wanted[4] = { (uint8_t)pending, (uint8_t)status, 0, true };

	if (memcmp(&house->pending, wanted, sizeof(wanted)) != 0) {
		return false;
	}
	gy_assume(house->status == (uint8_t)status);
	return true;
}

/* ---- its address ---- */

_Static_assert(offsetof(struct gyre_address, slot) == 0 &&
		       offsetof(struct gyre_address, cookie) == sizeof(uint32_t) &&
		       offsetof(struct gy_origin, cookie) == sizeof(uint32_t) &&
		       offsetof(struct gy_house, self) % sizeof(uint64_t) == 0,
	       "compared as one");

typedef uint64_t __attribute__((may_alias)) gy_slot_and_cookie;

/*
 * Whether an address of the loop of this house, which had that slot and may be stale, names it: one
 * comparison for slot and cookie. Other threads may be giving the cookie to somebody.
 */
static inline bool gy_house_is_named(const struct gy_house *house, struct gyre_address to)
{
	const void *self = &house->self;
	uint64_t named;

	memcpy(&named, &to, sizeof(named));
	return gy_likely(gy_load_acquire((const gy_slot_and_cookie *)self) == named);
}

/* The same of the sender of a mail. */
static inline bool gy_mail_is_from_house(const struct gy_house *house, const struct gyre_mail *mail)
{
	const void *self = &house->self;
	uint64_t named;

	memcpy(&named, &mail->from, sizeof(named));
	return gy_likely(gy_load_acquire((const gy_slot_and_cookie *)self) == named);
}

static inline struct gyre_address gy_house_address(const struct gy_house *house)
{
	return gy_origin_address(house->self);
}

#endif
