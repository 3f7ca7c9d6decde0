/*
 * In the place of the compiler's <string.h> for the code that is explored: what copies and clears
 * memory is seen as plain accesses are.
 */
#ifndef GY_TEST_MODEL_SHADOW_STRING_H
#define GY_TEST_MODEL_SHADOW_STRING_H

#include_next <string.h>

void *model_copy(void *to, const void *from, size_t bytes);
void *model_fill(void *to, int byte, size_t bytes);

#define memcpy(to, from, bytes) model_copy((to), (from), (bytes))
#define memset(to, byte, bytes) model_fill((to), (byte), (bytes))

#endif
