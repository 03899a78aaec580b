/* A small interface over libjpeg-turbo's jpeg_* functions, so that setjmp and longjmp stay in C. */
#ifndef GRISTMILL_JPEG_SHIM_H
#define GRISTMILL_JPEG_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* Results of every function here. */
enum {
  GM_OK = 0,
  GM_LIBRARY = 1,     /* libjpeg gave up; its message is kept */
  GM_CHANNELS = 2,    /* neither 1 nor 3 output channels */
  GM_SIZE = 3,        /* no pixels, or more than the limit */
  GM_CROP = 4,        /* the crop window does not lie inside the image */
  GM_MEMORY = 5       /* no memory for the shim's own needs */
};

typedef struct gm_decode_options {
  int32_t channels;         /* 0 (as the file has it, at most 3), 1 or 3 */
  int32_t ratio;            /* 1, 2, 4 or 8 */
  int32_t fancy_upscaling;
  int32_t recover;          /* a missing end is made up */
  int32_t accurate_dct;
  int32_t crop;             /* the four numbers below count */
  int32_t crop_y, crop_x, crop_height, crop_width;
  int32_t exact;            /* the window has the pixels of the whole image, at its edges too */
  int64_t limit;            /* height * width * components has to stay below this */
} gm_decode_options;

typedef struct gm_encode_options {
  int32_t quality;
  int32_t progressive;
  int32_t optimize_size;
  int32_t chroma_downsampling;
  int32_t density_unit;     /* 1 inch, 2 cm */
  int32_t x_density, y_density;
  const uint8_t *xmp;       /* metadata without its name space, or NULL */
  size_t xmp_length;
} gm_encode_options;

typedef struct gm_decoder gm_decoder;

gm_decoder *gm_decoder_new(const uint8_t *data, size_t length);
void gm_decoder_free(gm_decoder *decoder);
const char *gm_decoder_message(const gm_decoder *decoder);
int gm_decoder_shape(gm_decoder *decoder, uint32_t shape[3]);
int gm_decoder_start(gm_decoder *decoder, const gm_decode_options *options, uint32_t shape[3]);
int gm_decoder_read(gm_decoder *decoder, uint8_t *pixels, uint32_t *rows_read);
/* The next rows, all of them or GM_LIBRARY; then, after the last row, whether the whole file is sound. */
int gm_decoder_rows(gm_decoder *decoder, uint8_t *pixels, uint32_t rows);
int gm_decoder_end(gm_decoder *decoder);

int gm_encode(const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels,
              const gm_encode_options *options, uint8_t **bytes, size_t *length, char message[200]);
void gm_bytes_free(uint8_t *bytes);

int gm_version(void);
int gm_simd_in_use(void);

#endif
