/*
 * The tree of actors, drawn from the roots down while the loops go on.
 *
 * Families come and go under the mutex of their home's slots. So a family that was found under it
 * stays during a walk, and slots are never freed. But the ring of a family changes during the walk:
 * each actor says itself whether it still belongs to the family, and the walk ends at one that does
 * not. What is drawn of a parent was true at some moment, and a child that came or left then may be
 * missing.
 *
 * All is bounded: how deep the tree is drawn, how many children of a parent, and how many lines.
 */
#include "system/observe/actor_tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actor/address_text.h"
#include "actor/home.h"
#include "actor/life/children.h"
#include "base/log/log_text.h"
#include "base/memory/memory.h"

enum {
	DEPTH_MAX = 10,
	CHILDREN_MAX = 8, /* of one parent */
	LINES_MAX = 200,
	INDENT = 2,
	LINE_BYTES = GY_PATH_PART_BYTES + GY_CLASS_NAME_BYTES + GYRE_ADDRESS_TEXT_MAX + 64,
	NUMBER_BYTES = 32
};

struct tree {
	const struct gy_homes *homes;
	char *text;
	size_t used;
	uint32_t lines;
};

struct child {
	const struct gy_home *home;
	struct gyre_address address;
	const char *class_name;
	uint32_t number;
	bool is_root;
};

struct children {
	uint64_t count; /* in all */
	uint32_t shown;
	struct child child[CHILDREN_MAX];
};

/* ---- looking ---- */

/* Reads a house that still is in the family. */
static bool read_child(const struct gy_home *home, const struct gy_family *family, uint32_t slot,
		       struct child *ret_child)
{
	const struct gy_house *house = gy_house_at(home, slot);
	const struct gy_class_info *info = gy_load_acquire(&house->class_info);

	*ret_child = (struct child){ .home = home, .number = gy_load_relaxed(&house->number) };
	ret_child->is_root = gy_load_relaxed(&house->is_root);
	ret_child->address.slot = slot;
	ret_child->address.cookie = gy_load_acquire(&house->self.cookie);
	ret_child->address.loop = home->loop.index;
	ret_child->address.node = home->node;
	ret_child->class_name = info == NULL ? NULL : info->name;
	return info != NULL && gy_load_acquire(&house->family) == family;
}

static void walk(const struct gy_home *home, const struct gy_family *family,
		 struct children *children)
{
	uint32_t count = gy_load_relaxed(&family->count);
	uint32_t slot = gy_load_relaxed(&family->first);

	children->count += count;
	for (uint32_t i = 0; i < count && children->shown < CHILDREN_MAX; i++) {
		if (!read_child(home, family, slot, &children->child[children->shown])) {
			return;
		}
		children->shown++;
		slot = gy_load_relaxed(&gy_house_at(home, slot)->next_sibling);
	}
}

/* The children of an actor, or of a root if @parent is NULL. */
static void find_children(const struct tree *tree, const struct child *parent, enum gy_root root,
			  struct children *children)
{
	uint32_t made = gy_homes_made(tree->homes);

	children->count = 0;
	children->shown = 0;
	for (uint32_t i = 0; i < made; i++) {
		struct gy_home *home = &tree->homes->homes[i];
		const struct gy_family *family = &home->roots[root];

		(void)pthread_mutex_lock(&home->slots.mutex);
		if (parent != NULL) {
			family = gy_family_find(home, gy_origin_of(parent->address));
		}
		if (family != NULL) {
			walk(home, family, children);
		}
		(void)pthread_mutex_unlock(&home->slots.mutex);
	}
}

/* ---- drawing ---- */

GY_PRINTF(3, 4)
static void draw_line(struct tree *tree, uint32_t depth, const char *format, ...)
{
	char *at = tree->text + tree->used;
	size_t indent = (size_t)depth * INDENT;
	va_list args;
	int bytes;

	if (tree->lines == LINES_MAX) {
		return;
	}
	memset(at, ' ', indent);
	va_start(args, format);
	bytes = vsnprintf(at + indent, LINE_BYTES, format, args);
	va_end(args);
	tree->used += indent + (size_t)(bytes < LINE_BYTES ? bytes : LINE_BYTES - 1);
	tree->text[tree->used++] = '\n';
	tree->lines++;
}

/* "9,997" */
static const char *with_commas(uint64_t number, char text[NUMBER_BYTES])
{
	char *at = text + NUMBER_BYTES - 1;

	*at = 0;
	for (uint32_t digits = 0; digits == 0 || number > 0; digits++, number /= 10) {
		if (digits > 0 && digits % 3 == 0) {
			*--at = ',';
		}
		*--at = (char)('0' + number % 10);
	}
	return at;
}

static void draw_more(struct tree *tree, uint32_t depth, uint64_t count)
{
	char number[NUMBER_BYTES];

	if (count > 0) {
		draw_line(tree, depth, "\xe2\x80\xa6 %s more", with_commas(count, number));
	}
}

/* A name may hold bytes of a peer, which must not end the line or talk to a terminal. */
static void draw_actor(struct tree *tree, const struct child *child, uint32_t depth)
{
	struct gy_log_text shown = { .count = 0 };
	char part[GY_PATH_PART_BYTES];
	char address[GYRE_ADDRESS_TEXT_MAX];

	(void)gy_path_part(child->home, child->address, child->class_name, child->number, part);
	gy_log_text_add(&shown, part, strlen(part), GY_PATH_PART_BYTES - 1, false);
	draw_line(tree, depth, "%s  %s %s", shown.bytes, child->class_name,
		  gy_address_text(child->address, address));
}

/* Draws the children of an actor, or of a root; each of them deepens the C stack once. */
static void draw_children(struct tree *tree, const struct child *parent, enum gy_root root,
			  uint32_t depth)
{
	struct children children;

	find_children(tree, parent, root, &children);
	if (depth > DEPTH_MAX) {
		draw_more(tree, depth, children.count);
		return;
	}
	for (uint32_t i = 0; i < children.shown && tree->lines < LINES_MAX; i++) {
		const struct child *child = &children.child[i];

		if (child->is_root) { /* stands for the root itself */
			draw_children(tree, child, root, depth);
			continue;
		}
		draw_actor(tree, child, depth);
		draw_children(tree, child, root, depth + 1);
	}
	draw_more(tree, depth, children.count - children.shown);
}

char *gy_actor_tree_draw(const struct gy_homes *homes)
{
	const size_t bytes = LINES_MAX * (LINE_BYTES + (DEPTH_MAX + 2) * INDENT) + 1;
	struct tree tree = { .homes = homes, .text = (char *)gy_memory_get_raw(bytes) };

	if (tree.text == NULL) {
		return NULL;
	}
	draw_line(&tree, 0, "/");
	for (uint32_t root = 0; root < GY_ROOTS; root++) {
		draw_line(&tree, 1, "%s", gy_root_names[root]);
		draw_children(&tree, NULL, (enum gy_root)root, 2);
	}
	tree.text[tree.used] = 0;
	return tree.text;
}
