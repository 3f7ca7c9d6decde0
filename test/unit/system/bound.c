#include "bound.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>

#include "buffer/socket_address.h"

int bound_find(const struct gyre_socket_address *at)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	cr_assert_not_null(folder);
	while (found < 0 && (entry = readdir(folder)) != NULL) {
		struct gyre_socket_address address;
		struct gyre_socket_address peer;
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (gy_socket_address_of(fd, &address) == 0 &&
		    gyre_socket_address_equal(&address, at) &&
		    gy_socket_address_of_peer(fd, &peer) < 0) {
			found = fd;
		}
	}
	(void)closedir(folder);
	cr_assert_geq(found, 0);
	return found;
}

int bound_option(const struct gyre_socket_address *at, int level, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	cr_assert_eq(getsockopt(bound_find(at), level, name, &value, &bytes), 0);
	return value;
}
