#!/usr/bin/env python3
"""Proves that scripts/check_pages.py catches what it is for."""
import planted

HEADER = planted.IDEA + """#ifndef GYRE_GYRE_H
#define GYRE_GYRE_H
int gyre_send(int mail);
#endif
"""
INDEX = "# All\n\n- @subpage gyre-mail\n"
PAGE = """# Mail {#gyre-mail}

Sent by gyre_send().

```c
static int send_two(void)
{
	return gyre_send(2);
}
```

```cpp
static int send_three()
{
	return gyre_send(3);
}
```

```cpp20
static int send_four(auto mail)
{
	return gyre_send(mail);
}

static int four = send_four(4);
```

```
cc $(this is no code)
```

@dotfile way.dot "The way"

See mail.h.
"""


class Pages(planted.PlantedTest):
    check = "check_pages.py"
    clean = {
        "include/gyre/gyre.h": HEADER,
        "include/gyre/mail.h": planted.IDEA,
        "scripts/doc/pages/index.md": INDEX,
        "scripts/doc/pages/mail.md": PAGE,
        "scripts/doc/pages/way.dot": "digraph way { a -> b; }\n",
    }

    def caught(self, old, new, *expected):
        self.change("scripts/doc/pages/mail.md", old, new)
        self.assert_caught("scripts/doc/pages/mail.md:", "pages: 1 to mend", *expected)

    def test_is_content_with_pages_in_order(self):
        self.assert_content()

    def test_catches_code_that_does_not_compile(self):
        self.change("scripts/doc/pages/mail.md", "gyre_send(2)", "gyre_send(2, 3)")
        self.assert_caught("scripts/doc/pages/mail.md: gcc as C11:", ":8:")

    def test_catches_code_with_a_warning(self):
        self.change("scripts/doc/pages/mail.md", "return gyre_send(2);", "int i; return gyre_send(2);")
        self.assert_caught("scripts/doc/pages/mail.md: gcc as C11:", "unused variable")

    def test_catches_code_in_cxx_that_does_not_compile(self):
        self.change("scripts/doc/pages/mail.md", "gyre_send(3)", "gyre_send(nullptr)")
        self.assert_caught("scripts/doc/pages/mail.md: g++ as C++17:", ":15:")

    def test_catches_code_in_cxx20_that_does_not_compile(self):
        self.change("scripts/doc/pages/mail.md", "send_four(4)", "send_four(nullptr)")
        self.assert_caught("scripts/doc/pages/mail.md: g++ as C++20:")

    def test_catches_c_that_stands_among_the_cxx(self):
        self.change("scripts/doc/pages/mail.md", "gyre_send(3)", "gyre_send((int[]){ [0] = 3 }[0])")
        self.assert_caught("scripts/doc/pages/mail.md: clang++ as C++17:")

    def test_catches_a_page_that_is_not_listed(self):
        self.change("scripts/doc/pages/index.md", "- @subpage gyre-mail\n", "")
        self.assert_caught("scripts/doc/pages/mail.md: is no subpage of")

    def test_catches_a_page_without_its_label(self):
        self.caught(" {#gyre-mail}", "", "does not begin with a title and its label {#gyre-mail}")

    def test_catches_a_diagram_that_no_page_shows(self):
        self.change("scripts/doc/pages/mail.md", "@dotfile way.dot", "@dotfile other.dot")
        self.assert_caught("scripts/doc/pages/way.dot: is shown by no page")

    def test_catches_a_header_that_no_page_names(self):
        self.plant("include/gyre/watch.h", planted.IDEA)
        self.assert_caught("include/gyre/watch.h: is named by no page")

    def test_catches_a_function_that_does_not_exist(self):
        self.caught("Sent by gyre_send()", "Sent by gyre_sent()", ":3: gyre_sent() stands in no header")

    def test_catches_a_function_that_does_not_exist_in_a_diagram(self):
        self.plant("scripts/doc/pages/way.dot", 'digraph way { a [label="by\\ngyre_sent()"]; }\n')
        self.assert_caught("scripts/doc/pages/way.dot:1: gyre_sent() stands in no header")

    def test_catches_a_long_line(self):
        self.caught("Sent by", "Sent " + "very " * 30 + "often by", ":3: has more than 120 columns")

    def test_lets_rows_of_tables_be_long(self):
        self.change("scripts/doc/pages/mail.md", "Sent by", "| a | " + "b " * 80 + "|\n\nSent by")
        self.assert_content()


if __name__ == "__main__":
    planted.main()
