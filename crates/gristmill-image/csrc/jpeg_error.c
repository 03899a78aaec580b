#include "jpeg_error.h"

static void on_error(j_common_ptr info) {
  gm_error *error = (gm_error *)info->err;
  error->base.format_message(info, error->message);
  longjmp(error->jump, 1);
}

static void on_message(j_common_ptr info) { (void)info; }

void gm_init_error(gm_error *error) {
  jpeg_std_error(&error->base);
  error->base.error_exit = on_error;
  error->base.output_message = on_message;
  error->message[0] = 0;
}
