/*
 * Names: hosts of the simulation are known by their names, and there are "localhost" and addresses;
 * an interface is "lo" or "eth0". What gyre asks c-ares is answered here as well, at once, as from
 * a file. Where the program has named servers c-ares asks them about other names, over simulated
 * sockets; but it has the clock of the machine, so it does not ask again in the simulation's time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "sim/net/socket.h"
#include "sim/wrapped.h"

enum { ADDRESSES_MAX = 2, SOCKETS_MAX = 2, LOOPBACK_INTERFACE = 1, INTERFACE = 2 };

/* ---- what is looked for ---- */

struct found {
	struct in6_addr addresses[ADDRESSES_MAX]; /* of IPv4 they are mapped */
	uint32_t count;
	uint16_t port;
};

static void add(struct found *found, const struct addrinfo *hints, const struct in6_addr *ip)
{
	int family = IN6_IS_ADDR_V4MAPPED(ip) ? AF_INET : AF_INET6;

	if (hints->ai_family == AF_UNSPEC || hints->ai_family == family) {
		found->addresses[found->count++] = *ip;
	}
}

static struct in6_addr mapped(struct in_addr four)
{
	struct in6_addr ip = { 0 };

	ip.s6_addr[10] = 0xff;
	ip.s6_addr[11] = 0xff;
	memcpy(&ip.s6_addr[12], &four, sizeof(four));
	return ip;
}

static void add_both(struct found *found, const struct addrinfo *hints, struct in6_addr six,
		     uint32_t four)
{
	struct in6_addr other = mapped((struct in_addr){ .s_addr = htonl(four) });

	add(found, hints, &six);
	add(found, hints, &other);
}

static int find_host(const char *host, const struct addrinfo *hints, struct found *found)
{
	bool passive = (hints->ai_flags & AI_PASSIVE) != 0;
	struct in6_addr ip;
	struct in_addr four;
	int number;

	if (host == NULL) {
		add_both(found, hints, passive ? in6addr_any : in6addr_loopback,
			 passive ? INADDR_ANY : INADDR_LOOPBACK);
	} else if (inet_pton(AF_INET, host, &four) == 1) {
		ip = mapped(four);
		add(found, hints, &ip);
	} else if (inet_pton(AF_INET6, host, &ip) == 1) {
		add(found, hints, &ip);
	} else if ((hints->ai_flags & AI_NUMERICHOST) != 0) {
		return EAI_NONAME;
	} else if (strcmp(host, "localhost") == 0) {
		add_both(found, hints, in6addr_loopback, INADDR_LOOPBACK);
	} else {
		number = gy_sim_net_find(gy_sim_host_here()->sim, host);
		if (number < 0) {
			return EAI_NONAME;
		}
		ip = gy_sim_host_ip((uint32_t)number, true);
		add(found, hints, &ip);
		ip = gy_sim_host_ip((uint32_t)number, false);
		add(found, hints, &ip);
	}
	return found->count > 0 ? 0 : EAI_ADDRFAMILY;
}

static int find_port(const char *service, struct found *found)
{
	char *end;
	unsigned long port = service == NULL ? 0 : strtoul(service, &end, 10);

	if (service != NULL && (*service == '\0' || *end != '\0' || port > UINT16_MAX)) {
		return EAI_SERVICE;
	}
	found->port = (uint16_t)port;
	return 0;
}

/* ---- the list ---- */

/* An entry and the address behind it, in one piece. */
struct entry {
	struct addrinfo info;
	struct sockaddr_storage address;
};

static struct addrinfo *make_entry(const struct found *found, uint32_t index, int type)
{
	const struct in6_addr *ip = &found->addresses[index];
	bool is_four = IN6_IS_ADDR_V4MAPPED(ip);
	const struct gy_sim_socket as = { .domain = is_four ? AF_INET : AF_INET6 };
	const struct gy_sim_endpoint endpoint = { *ip, found->port };
	struct entry *entry = (struct entry *)gy_sim_get(sizeof(*entry));

	entry->info.ai_family = as.domain;
	entry->info.ai_socktype = type;
	entry->info.ai_protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	entry->info.ai_addrlen = (socklen_t)gy_sim_endpoint_name(&as, &endpoint, &entry->address);
	entry->info.ai_addr = (struct sockaddr *)&entry->address;
	return &entry->info;
}

static struct addrinfo *make_list(const struct found *found, const struct addrinfo *hints)
{
	static const int types[SOCKETS_MAX] = { SOCK_STREAM, SOCK_DGRAM };
	struct addrinfo *first = NULL;
	struct addrinfo **last = &first;

	for (uint32_t i = 0; i < found->count; i++) {
		for (uint32_t t = 0; t < SOCKETS_MAX; t++) {
			if (hints->ai_socktype == 0 || hints->ai_socktype == types[t]) {
				*last = make_entry(found, i, types[t]);
				last = &(*last)->ai_next;
			}
		}
	}
	return first;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret_found)
{
	static const struct addrinfo none;
	struct found found = { .count = 0 };
	int r;

	if (gy_sim_here == NULL) {
		return __real_getaddrinfo(host, service, hints, ret_found);
	}
	hints = hints == NULL ? &none : hints;
	r = host == NULL && service == NULL ? EAI_NONAME : find_host(host, hints, &found);
	if (r == 0) {
		r = find_port(service, &found);
	}
	if (r == 0) {
		*ret_found = make_list(&found, hints);
		r = *ret_found == NULL ? EAI_SOCKTYPE : 0;
	}
	return r;
}

void __wrap_freeaddrinfo(struct addrinfo *found)
{
	if (gy_sim_here == NULL) {
		__real_freeaddrinfo(found);
		return;
	}
	while (found != NULL) {
		struct addrinfo *next = found->ai_next;

		gy_sim_put(found);
		found = next;
	}
}

/* ---- c-ares ---- */

/* The name of answers that are not c-ares's own. */
static char found_here[] = "";

/* One that has servers to ask. */
struct asking {
	struct gy_list of_host;
	ares_channel channel;
};

static struct asking *find_asking(ares_channel channel)
{
	struct gy_list *all = &gy_sim_host_here()->net->asking;

	for (struct gy_list *item = all->next; item != all; item = item->next) {
		struct asking *asking = gy_container_of(item, struct asking, of_host);

		if (asking->channel == channel) {
			return asking;
		}
	}
	return NULL;
}

static void drop_asking(struct asking *asking)
{
	gy_list_remove(&asking->of_host);
	gy_sim_put(asking);
}

void gy_sim_lookups_drop(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->net->asking)) {
		drop_asking(gy_container_of(host->net->asking.next, struct asking, of_host));
	}
}

int __wrap_ares_set_servers_ports_csv(ares_channel channel, const char *servers)
{
	int status = __real_ares_set_servers_ports_csv(channel, servers);
	struct asking *asking;

	if (gy_sim_here != NULL && status == ARES_SUCCESS && find_asking(channel) == NULL) {
		asking = (struct asking *)gy_sim_get(sizeof(*asking));
		asking->channel = channel;
		gy_list_append(&gy_sim_host_here()->net->asking, &asking->of_host);
	}
	return status;
}

void __wrap_ares_destroy(ares_channel channel)
{
	struct asking *asking = gy_sim_here == NULL ? NULL : find_asking(channel);

	__real_ares_destroy(channel);
	if (asking != NULL) {
		drop_asking(asking);
	}
}

static struct ares_addrinfo_node *make_node(const struct found *found, uint32_t index, int type)
{
	struct ares_addrinfo_node *node = (struct ares_addrinfo_node *)gy_sim_get(sizeof(*node));
	struct addrinfo *entry = make_entry(found, index, type);

	node->ai_family = entry->ai_family;
	node->ai_socktype = entry->ai_socktype;
	node->ai_protocol = entry->ai_protocol;
	node->ai_addrlen = entry->ai_addrlen;
	node->ai_addr = (struct sockaddr *)gy_sim_get(entry->ai_addrlen);
	memcpy(node->ai_addr, entry->ai_addr, entry->ai_addrlen);
	gy_sim_put(entry);
	return node;
}

void __wrap_ares_getaddrinfo(ares_channel channel, const char *host, const char *service,
			     const struct ares_addrinfo_hints *hints,
			     ares_addrinfo_callback callback, void *arg)
{
	struct found found = { .count = 0 };
	struct ares_addrinfo *answer;
	struct ares_addrinfo_node **last;

	if (gy_sim_here == NULL) {
		__real_ares_getaddrinfo(channel, host, service, hints, callback, arg);
		return;
	}
	if (find_host(host, &(struct addrinfo){ .ai_family = hints->ai_family }, &found) != 0 ||
	    find_port(service, &found) != 0) {
		if (find_asking(channel) != NULL) {
			__real_ares_getaddrinfo(channel, host, service, hints, callback, arg);
		} else {
			callback(arg, ARES_ENOTFOUND, 0, NULL);
		}
		return;
	}
	answer = (struct ares_addrinfo *)gy_sim_get(sizeof(*answer));
	answer->name = found_here;
	last = &answer->nodes;
	for (uint32_t i = 0; i < found.count; i++) {
		*last = make_node(&found, i, hints->ai_socktype);
		last = &(*last)->ai_next;
	}
	callback(arg, ARES_SUCCESS, 0, answer);
}

void __wrap_ares_freeaddrinfo(struct ares_addrinfo *answer)
{
	if (gy_sim_here == NULL || answer->name != found_here) {
		__real_ares_freeaddrinfo(answer);
		return;
	}
	while (answer->nodes != NULL) {
		struct ares_addrinfo_node *node = answer->nodes;

		answer->nodes = node->ai_next;
		gy_sim_put(node->ai_addr);
		gy_sim_put(node);
	}
	gy_sim_put(answer);
}

/* ---- interfaces ---- */

unsigned int __wrap_if_nametoindex(const char *name)
{
	if (gy_sim_here == NULL) {
		return __real_if_nametoindex(name);
	}
	if (strcmp(name, "lo") == 0) {
		return LOOPBACK_INTERFACE;
	}
	if (strcmp(name, "eth0") == 0) {
		return INTERFACE;
	}
	errno = ENODEV;
	return 0;
}

char *__wrap_if_indextoname(unsigned int index, char *ret_name)
{
	const char *name = index == LOOPBACK_INTERFACE ? "lo" : "eth0";

	if (gy_sim_here == NULL) {
		return __real_if_indextoname(index, ret_name);
	}
	if (index != LOOPBACK_INTERFACE && index != INTERFACE) {
		errno = ENXIO;
		return NULL;
	}
	memcpy(ret_name, name, strlen(name) + 1);
	return ret_name;
}
