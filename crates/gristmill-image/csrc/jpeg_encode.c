#include "jpeg_error.h"
#include "jpeg_shim.h"

#include <stdlib.h>
#include <string.h>

typedef struct gm_encoder {
  struct jpeg_compress_struct info;
  gm_error error;
  unsigned char *bytes;
  unsigned long length;
  uint8_t *packet;
} gm_encoder;

static const char xmp_name_space[] = "http://ns.adobe.com/xap/1.0/";

/* Inside the caller's setjmp. */
static void encode(gm_encoder *encoder, const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels,
                   const gm_encode_options *options) {
  struct jpeg_compress_struct *info = &encoder->info;
  jpeg_mem_dest(info, &encoder->bytes, &encoder->length);
  info->image_height = height;
  info->image_width = width;
  info->input_components = (int)channels;
  info->in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(info);
  if (options->optimize_size) info->optimize_coding = TRUE;
  info->density_unit = (UINT8)options->density_unit;
  info->X_density = (UINT16)options->x_density;
  info->Y_density = (UINT16)options->y_density;
  jpeg_set_quality(info, options->quality, TRUE);
  if (options->progressive) jpeg_simple_progression(info);
  if (!options->chroma_downsampling) {
    for (int i = 0; i < info->num_components; i++) {
      info->comp_info[i].h_samp_factor = 1;
      info->comp_info[i].v_samp_factor = 1;
    }
  }
  jpeg_start_compress(info, TRUE);
  if (encoder->packet != NULL) {
    jpeg_write_marker(info, JPEG_APP0 + 1, encoder->packet,
                      (unsigned int)(sizeof(xmp_name_space) + options->xmp_length));
  }
  while (info->next_scanline < height) {
    JSAMPROW row = (JSAMPROW)(pixels + (size_t)info->next_scanline * width * channels);
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
}

int gm_encode(const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels,
              const gm_encode_options *options, uint8_t **bytes, size_t *length, char message[200]) {
  gm_encoder *encoder = calloc(1, sizeof(gm_encoder));
  if (encoder == NULL) return GM_MEMORY;
  if (options->xmp_length > 0) {
    encoder->packet = malloc(sizeof(xmp_name_space) + options->xmp_length);
    if (encoder->packet == NULL) {
      free(encoder);
      return GM_MEMORY;
    }
    memcpy(encoder->packet, xmp_name_space, sizeof(xmp_name_space));
    memcpy(encoder->packet + sizeof(xmp_name_space), options->xmp, options->xmp_length);
  }
  gm_init_error(&encoder->error);
  encoder->info.err = &encoder->error.base;
  volatile int result = GM_LIBRARY;
  if (setjmp(encoder->error.jump) == 0) {
    jpeg_create_compress(&encoder->info);
    encode(encoder, pixels, height, width, channels, options);
    result = GM_OK;
  }
  jpeg_destroy_compress(&encoder->info);
  if (result == GM_OK) {
    *bytes = encoder->bytes;
    *length = encoder->length;
  } else {
    free(encoder->bytes);
    snprintf(message, 200, "%s", encoder->error.message);
  }
  free(encoder->packet);
  free(encoder);
  return result;
}

void gm_bytes_free(uint8_t *bytes) { free(bytes); }

/* -------------------------------------------------------------------- build */

/* Inside libjpeg-turbo's SIMD layer: whether the inverse DCT of the default method has vector code on this machine. */
extern int jsimd_can_idct_ifast(void);

int gm_version(void) { return LIBJPEG_TURBO_VERSION_NUMBER; }

int gm_simd_in_use(void) { return jsimd_can_idct_ifast(); }
