/*
 * The names of Unix sockets: abstract ones, which go with their socket, and paths, which stay as
 * files until somebody removes them, also when the host has crashed. The files are kept here, and
 * the disk asks for them.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "sim/net/local.h"

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path), INODE_FIRST = 1 << 30 };

struct gy_sim_socket_file {
	struct gy_list of_host;
	struct gy_sim_local_name path;
	struct gy_sim_local *local; /* NULL: nobody has it any more */
	ino_t inode;
	mode_t mode;
};

static bool is_path(const struct gy_sim_local_name *name)
{
	return name->bytes > 0 && name->text[0] != '\0';
}

static bool is_same(const struct gy_sim_local_name *a, const struct gy_sim_local_name *b)
{
	return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

static int read_name(const struct sockaddr *name, socklen_t bytes,
		     struct gy_sim_local_name *ret_name)
{
	*ret_name = (struct gy_sim_local_name){ 0 };
	if (name == NULL || bytes < PATH_AT || bytes > sizeof(struct sockaddr_un) ||
	    name->sa_family != AF_UNIX) {
		return -EINVAL;
	}
	memcpy(ret_name->text, (const char *)name + PATH_AT, bytes - PATH_AT);
	ret_name->bytes = (uint32_t)(bytes - PATH_AT);
	if (is_path(ret_name)) {
		ret_name->bytes = (uint32_t)strnlen(ret_name->text, ret_name->bytes);
	}
	return 0;
}

socklen_t gy_sim_local_name_write(const struct gy_sim_local_name *name,
				  struct sockaddr_un *ret_name)
{
	*ret_name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret_name->sun_path, name->text, name->bytes);
	return (socklen_t)(PATH_AT + name->bytes +
			   (is_path(name) && name->bytes < sizeof(ret_name->sun_path) ? 1 : 0));
}

int gy_sim_local_name_of(const struct gy_sim_socket *socket, bool peer,
			 struct sockaddr_storage *ret_name)
{
	const struct gy_sim_local *local = gy_sim_local_of(socket);
	struct sockaddr_un name;
	socklen_t bytes;

	if (peer && !socket->connected) {
		return -ENOTCONN;
	}
	bytes = gy_sim_local_name_write(peer ? &local->peer_name : &local->name, &name);
	memcpy(ret_name, &name, bytes);
	return (int)bytes;
}

/* ---- files ---- */

static struct gy_sim_socket_file *find_file(const struct gy_sim_host *host,
					    const struct gy_sim_local_name *path)
{
	struct gy_list *files = &host->net->socket_files;

	for (struct gy_list *item = files->next; item != files; item = item->next) {
		struct gy_sim_socket_file *file =
			gy_container_of(item, struct gy_sim_socket_file, of_host);

		if (is_same(&file->path, path)) {
			return file;
		}
	}
	return NULL;
}

static struct gy_sim_socket_file *find_path(const struct gy_sim_host *host, const char *path)
{
	struct gy_sim_local_name name = { .bytes = (uint32_t)strlen(path) };

	if (name.bytes == 0 || name.bytes > sizeof(name.text)) {
		return NULL;
	}
	memcpy(name.text, path, name.bytes);
	return find_file(host, &name);
}

int gy_sim_socket_file_status(const struct gy_sim_host *host, const char *path,
			      struct stat *ret_status)
{
	const struct gy_sim_socket_file *file = find_path(host, path);

	if (file == NULL) {
		return -ENOENT;
	}
	*ret_status = (struct stat){
		.st_dev = 1, .st_ino = file->inode, .st_nlink = 1, .st_mode = S_IFSOCK | file->mode
	};
	return 0;
}

int gy_sim_socket_file_set_mode(struct gy_sim_host *host, const char *path, mode_t mode)
{
	struct gy_sim_socket_file *file = find_path(host, path);

	if (file == NULL) {
		return -ENOENT;
	}
	file->mode = mode & 07777;
	return 0;
}

static void destroy_file(struct gy_sim_socket_file *file)
{
	gy_list_remove(&file->of_host);
	gy_sim_put(file);
}

int gy_sim_socket_file_remove(struct gy_sim_host *host, const char *path)
{
	struct gy_sim_socket_file *file = find_path(host, path);

	if (file == NULL) {
		return -ENOENT;
	}
	destroy_file(file);
	return 0;
}

int gy_sim_socket_file_rename(struct gy_sim_host *host, const char *from, const char *to)
{
	struct gy_sim_socket_file *file = find_path(host, from);
	struct gy_sim_socket_file *replaced = find_path(host, to);
	size_t bytes = strlen(to);

	if (file == NULL || bytes == 0 || bytes > sizeof(file->path.text)) {
		return file == NULL || bytes == 0 ? -ENOENT : -ENAMETOOLONG;
	}
	if (replaced != NULL && replaced != file) {
		destroy_file(replaced);
	}
	memcpy(file->path.text, to, bytes);
	file->path.bytes = (uint32_t)bytes;
	return 0;
}

void gy_sim_socket_files_fini(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->net->socket_files)) {
		destroy_file(gy_container_of(host->net->socket_files.next,
					     struct gy_sim_socket_file, of_host));
	}
}

static void make_file(struct gy_sim_local *local)
{
	struct gy_sim_net_host *net = local->socket.file.host->net;
	struct gy_sim_socket_file *file = (struct gy_sim_socket_file *)gy_sim_get(sizeof(*file));

	file->path = local->name;
	file->local = local;
	file->inode = INODE_FIRST + net->next_inode++;
	file->mode = 0755;
	gy_list_append(&net->socket_files, &file->of_host);
}

void gy_sim_local_unname(struct gy_sim_local *local)
{
	struct gy_list *files = &local->socket.file.host->net->socket_files;

	for (struct gy_list *item = files->next; item != files; item = item->next) {
		struct gy_sim_socket_file *file =
			gy_container_of(item, struct gy_sim_socket_file, of_host);

		if (file->local == local) {
			file->local = NULL;
		}
	}
}

/* ---- binding and finding ---- */

static struct gy_sim_local *find_abstract(const struct gy_sim_host *host,
					  const struct gy_sim_local_name *name)
{
	const struct gy_list *sockets = &host->net->sockets;

	for (const struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);

		if (socket->domain == AF_UNIX && socket->bound &&
		    is_same(&gy_sim_local_of(socket)->name, name)) {
			return gy_sim_local_of(socket);
		}
	}
	return NULL;
}

/* A name that nobody has: five hexadecimal digits, as Linux gives them. */
static void name_unnamed(const struct gy_sim_host *host, struct gy_sim_local_name *name)
{
	enum { DIGITS = 5, AUTO_MAX = 0xfffff };

	do {
		host->net->next_auto = (host->net->next_auto + 1) & AUTO_MAX;
		(void)snprintf(name->text + 1, sizeof(name->text) - 1, "%05x",
			       (unsigned)host->net->next_auto);
		name->text[0] = '\0';
		name->bytes = 1 + DIGITS;
	} while (find_abstract(host, name) != NULL);
}

/* Whether there is a file of a socket, or of the disk. */
static bool is_taken(const struct gy_sim_socket *socket, const struct gy_sim_local_name *path)
{
	char text[sizeof(path->text) + 1] = "";

	memcpy(text, path->text, path->bytes);
	return find_file(socket->file.host, path) != NULL ||
	       gy_sim_disk_has(socket->file.host, text);
}

int gy_sim_local_bind(struct gy_sim_socket *socket, const struct sockaddr *name, socklen_t bytes)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);
	const struct gy_sim_host *host = socket->file.host;
	struct gy_sim_local_name wanted;
	int r = read_name(name, bytes, &wanted);

	if (r < 0 || socket->bound) {
		return -EINVAL;
	}
	if (wanted.bytes == 0) {
		name_unnamed(host, &wanted);
	}
	if (is_path(&wanted) ? is_taken(socket, &wanted) : find_abstract(host, &wanted) != NULL) {
		return -EADDRINUSE;
	}
	local->name = wanted;
	socket->bound = true;
	if (is_path(&wanted)) {
		make_file(local);
	}
	return 0;
}

int gy_sim_local_find(const struct gy_sim_socket *asks, const struct sockaddr *name,
		      socklen_t bytes, struct gy_sim_local **ret_found)
{
	const struct gy_sim_host *host = asks->file.host;
	const struct gy_sim_socket_file *file;
	struct gy_sim_local *found;
	struct gy_sim_local_name wanted;
	int r = read_name(name, bytes, &wanted);

	if (r < 0 || wanted.bytes == 0) {
		return -EINVAL;
	}
	if (is_path(&wanted)) {
		file = find_file(host, &wanted);
		if (file == NULL) {
			return -ENOENT;
		}
		found = file->local;
	} else {
		found = find_abstract(host, &wanted);
	}
	if (found == NULL) {
		return -ECONNREFUSED;
	}
	if (found->socket.type != asks->type) {
		return -EPROTOTYPE;
	}
	*ret_found = found;
	return 0;
}
