/*
 * Paths are written from their ends, since that is where the reading begins.
 */
#include "actor/life/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actor/class_log.h"
#include "actor/house_extra.h"
#include "actor/life/children.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"

/* "actor ", the name of a class, and a path. */
enum { BEFORE_BYTES = GYRE_PATH_TEXT_MAX + GY_CLASS_NAME_BYTES + 16 };

const char *const gy_root_names[GY_ROOTS] = { "user", "system" };

static const char elided[] = "/...";

size_t gy_path_part(const struct gy_home *home, struct gyre_address address, const char *class_name,
		    uint32_t number, char text[GY_PATH_PART_BYTES])
{
	const struct gy_directory_ops *directory = home->options.directory;
	size_t bytes = directory == NULL || directory->name_of == NULL
			       ? 0
			       : directory->name_of(home->options.system, address,
						    GY_PATH_PART_BYTES, text);

	return bytes > 0 ? bytes
			 : (size_t)snprintf(text, GY_PATH_PART_BYTES, "%s-%u", class_name, number);
}

static size_t own_part(const struct gy_house *house, char text[GY_PATH_PART_BYTES])
{
	return house->is_root ? 0
			      : gy_path_part(house->home, gy_house_address(house),
					     house->class_info->name, house->number, text);
}

struct gy_lineage *gy_lineage_make(const struct gy_house *house)
{
	char part[GY_PATH_PART_BYTES];
	size_t bytes = own_part(house, part);
	struct gy_lineage *parent = house->family->lineage;
	struct gy_lineage *lineage =
		(struct gy_lineage *)gy_sizes_new(&house->home->parts, sizeof(*lineage) + bytes);

	if (lineage == NULL) {
		return NULL;
	}
	*lineage = (struct gy_lineage){ .parent = parent,
					.root = house->family->root,
					.references = 1,
					.bytes = (uint32_t)bytes };
	memcpy(lineage->text, part, bytes);
	if (parent != NULL) {
		(void)gy_fetch_add(&parent->references, 1);
	}
	return lineage;
}

void gy_lineage_unref(const struct gy_house *house, struct gy_lineage *lineage)
{
	while (lineage != NULL && gy_fetch_add(&lineage->references, -1U) == 1) {
		struct gy_lineage *parent = lineage->parent;

		gy_sizes_delete(&house->home->parts, lineage, sizeof(*lineage) + lineage->bytes);
		lineage = parent;
	}
}

/* Puts a part before what begins at *@at, with a slash. False if there is no room for it, and for
 * the root and the mark of what is left out before it. */
static bool put_before(char *text, size_t *at, const char *part, size_t bytes)
{
	const size_t kept = sizeof(elided) + GY_PATH_PART_BYTES / 8;

	if (bytes == 0) {
		return true;
	}
	if (bytes + 1 + kept > *at) {
		return false;
	}
	*at -= bytes;
	memcpy(text + *at, part, bytes);
	text[--*at] = '/';
	return true;
}

const char *gy_path(const struct gy_house *house, char text[GYRE_PATH_TEXT_MAX])
{
	const struct gy_lineage *own = house->extra == NULL || house->extra->children == NULL
					       ? NULL
					       : house->extra->children->lineage;
	const struct gy_lineage *lineage = house->family->lineage;
	const char *root = gy_root_names[house->family->root];
	char part[GY_PATH_PART_BYTES];
	size_t at = GYRE_PATH_TEXT_MAX - 1;
	bool fits;

	text[at] = 0;
	fits = own != NULL ? put_before(text, &at, own->text, own->bytes)
			   : put_before(text, &at, part, own_part(house, part));
	while (fits && lineage != NULL) {
		fits = put_before(text, &at, lineage->text, lineage->bytes);
		lineage = fits ? lineage->parent : lineage;
	}
	if (!fits) {
		at -= sizeof(elided) - 1;
		memcpy(text + at, elided, sizeof(elided) - 1);
	}
	at -= strlen(root);
	memcpy(text + at, root, strlen(root));
	text[--at] = '/';
	return text + at;
}

int gyre_path(const struct gyre_stack *stack, size_t bytes, char *ret_text)
{
	char text[GYRE_PATH_TEXT_MAX];
	const char *path;
	size_t count;

	if (ret_text == NULL) {
		return -EINVAL;
	}
	path = gy_path(gy_stack_of_const(stack)->house, text);
	count = strlen(path);
	if (count >= bytes) {
		return -EMSGSIZE;
	}
	memcpy(ret_text, path, count + 1);
	return (int)count;
}

void gy_house_warn(struct gy_home *home, const struct gy_house *house, const char *format, ...)
{
	char text[GYRE_PATH_TEXT_MAX];
	char before[BEFORE_BYTES];
	va_list args;

	if (!gy_class_warn_admit(home, house->class_info)) {
		return;
	}
	(void)snprintf(before, sizeof(before), "actor %s %s: ", house->class_info->name,
		       gy_path(house, text));
	va_start(args, format);
	gy_class_warn_admitted(home, house->class_info, before, format, args);
	va_end(args);
}
