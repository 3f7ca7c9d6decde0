/*
 * Where a node listens is handed over as other sockets are: the new process is the node then, and
 * the file of a Unix socket stays where it is.
 */
#include <criterion/criterion.h>

#include <gyre/handover.h>
#include <gyre/node.h>
#include <gyre/system.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char at[64];
static struct sockaddr_un point = { .sun_family = AF_UNIX };
static char listen_text[sizeof(point.sun_path) + sizeof("unix:")];

static void begin(void)
{
	(void)snprintf(at, sizeof(at), "unix:@gyre-handover-node-%d", (int)getpid());
	(void)snprintf(point.sun_path, sizeof(point.sun_path), "/tmp/gyre-handover-node-%d",
		       (int)getpid());
	(void)snprintf(listen_text, sizeof(listen_text), "unix:%s", point.sun_path);
}

static ino_t inode_of(void)
{
	struct stat status;

	return stat(point.sun_path, &status) == 0 ? status.st_ino : 0;
}

static bool can_be_dialled(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool connected = connect(fd, (const struct sockaddr *)&point, sizeof(point)) == 0;

	(void)close(fd);
	return connected;
}

Test(handover_node, passes_the_unix_socket_of_a_node_and_leaves_its_file, .init = begin,
     .timeout = 60)
{
	const struct gyre_node_options node = { .id = 1, .listen = listen_text };
	const struct gyre_system_options options = {
		.loops = 1, .handover = at, .node = &node, .drain_timeout_ns = GYRE_SECONDS(1000)
	};
	struct gyre_system *former;
	struct gyre_system *successor;
	ino_t inode;

	cr_assert_eq(gyre_system_create(&options, &former), 0);
	cr_assert_eq(gyre_system_start(former), 0);
	inode = inode_of();
	cr_assert_neq(inode, 0);
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	cr_assert_eq(gyre_system_start(successor), 0);
	cr_expect_eq(gyre_system_wait(former), 0, "it ends by itself");
	gyre_system_destroy(former);
	cr_expect_eq(inode_of(), inode, "the same file");
	cr_expect(can_be_dialled());
	gyre_system_destroy(successor);
	cr_expect_eq(inode_of(), 0, "it goes with the last");
}
