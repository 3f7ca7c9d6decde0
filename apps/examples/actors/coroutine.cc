/*
 * Coroutines: a shop in C++20, whose handlers wait by co_await.
 *
 * The buyer asks for two prices at the same time, and then for one that the shop does not have. It
 * is compiled where the compiler has C++20.
 */
#include <cstdio>
#include <cstring>

#include <gyre/gyre.hpp>

struct price {
	int cents;
};
GYRE_MESSAGE(price, 0x100);

struct price_of {
	int item;
};
GYRE_REQUEST(price_of, 0x101, price);

GYRE_PROTOCOL(shop, price_of);

static gyre::task<int> look_up(gyre_stack *stack, int item)
{
	co_await gyre::sleep(stack, GYRE_MILLISECONDS(10));
	if (item > 2) {
		throw gyre::failure(-ENOENT);
	}
	co_return 90 * item;
}

static gyre::task<> tell_price(gyre_stack *stack)
{
	const int cents = co_await look_up(stack, gyre_message(stack, price_of)->item);

	co_return gyre_reply_to(stack, price_of, .cents = cents);
}

GYRE_SERVES(counter, shop, GYRE_ON_ASK(price_of, gyre::handler<tell_price>));

constexpr gyre_class shop_class = gyre::with_coroutines({
	.name = "shop",
	.behaviour = { GYRE_ROUTES_OF(counter) },
});

static void print(const char *name, const gyre::future<price> &future)
{
	if (future) {
		std::printf("%s: %d cents\n", name, future->cents);
	} else {
		std::printf("%s: %s\n", name, std::strerror(-future.error()));
	}
}

static gyre::task<> buy(gyre_stack *stack)
{
	shop_address shop;
	const int r = gyre_spawn(stack, &shop_class, GYRE_NO_ARGUMENT, nullptr, &shop.address);

	if (r < 0) {
		co_return r;
	}
	auto tea = gyre::ask(stack, shop, price_of{ .item = 1 });
	auto milk = gyre::ask(stack, shop, price_of{ .item = 2 });

	co_await gyre::all(tea, milk);
	print("tea", tea);
	print("milk", milk);
	print("coffee", co_await gyre::ask(stack, shop, price_of{ .item = 3 }));
	co_return gyre_stop(stack, gyre_self(stack));
}

constexpr gyre_class main_class = gyre::with_coroutines({
	.name = "main",
	.mount = gyre::handler<buy>,
});

int main(int argc, char **argv)
{
	const gyre_system_options options = { .loops = 1 };

	return gyre_main(&main_class, argc, argv, &options);
}
