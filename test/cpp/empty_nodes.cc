/*
 * The same program in C++.
 */
#include "empty_nodes.c"
