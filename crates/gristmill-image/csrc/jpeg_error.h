/* Errors of libjpeg as messages of ours, for the parts of the shim. */
#ifndef GM_JPEG_ERROR_H
#define GM_JPEG_ERROR_H

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>

typedef struct gm_error {
  struct jpeg_error_mgr base;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
} gm_error;

/* An error ends in a jump to `jump`; warnings go nowhere. */
void gm_init_error(gm_error *error);

#endif
