#include "jpeg_error.h"
#include "jpeg_shim.h"

#include <stdlib.h>
#include <string.h>

#include <jerror.h>

/* A file of more scans than any encoder makes is there to burn time (each costs a pass over the image). */
#define MAX_SCANS 1000
/* No part of a row of blocks needs so many readings of the same last bytes; the search for a marker in padding would go
 * on for ever. */
#define MAX_READINGS (1 << 20)
#define ROWS_AT_ONCE 16

typedef struct gm_source {
  struct jpeg_source_mgr base;
  const uint8_t *data;
  size_t length;
  int recover;
  /* Where the last bytes were read again, and how often in a row. */
  const JOCTET *again;
  long readings;
} gm_source;

struct gm_decoder {
  struct jpeg_decompress_struct info;
  gm_error error;
  gm_source source;
  struct jpeg_progress_mgr progress;
  int created;
  gm_decode_options options;
  int channels;
  /* Of what is delivered; rows passed over before it; where it starts in libjpeg's rows. */
  uint32_t height, width, skipped, offset;
  JSAMPLE *row;
};

static void on_progress(j_common_ptr info) {
  if (info->is_decompressor && ((j_decompress_ptr)info)->input_scan_number > MAX_SCANS) {
    ERREXIT(info, JERR_BAD_PROGRESSION);
  }
}

/* ------------------------------------------------------------------ source */

static void source_init(j_decompress_ptr info) {
  gm_source *source = (gm_source *)info->src;
  source->base.next_input_byte = source->data;
  source->base.bytes_in_buffer = source->length;
}

/* The end of the data by the rules of TensorFlow's reader (tensorflow/core/lib/jpeg/jpeg_handle.cc): with bytes still
 * unread the decoder is suspended, or, when recovering, reads them again (but not for ever); with none left an end marker
 * is made up once when recovering, and anything else is an error. */
static boolean source_fill(j_decompress_ptr info) {
  static const JOCTET end[2] = { 0xFF, JPEG_EOI };
  gm_source *source = (gm_source *)info->src;
  if (source->base.bytes_in_buffer != 0) {
    if (!source->recover) return FALSE;
    if (source->again != source->base.next_input_byte) source->readings = 0;
    source->again = source->base.next_input_byte;
    if (++source->readings <= MAX_READINGS) return TRUE;
  }
  if (source->base.next_input_byte == source->data) {
    ERREXIT(info, JERR_INPUT_EMPTY);
  }
  if (source->recover && source->base.next_input_byte != end) {
    WARNMS(info, JWRN_JPEG_EOF);
    source->base.next_input_byte = end;
    source->base.bytes_in_buffer = 2;
    return TRUE;
  }
  ERREXIT(info, JERR_FILE_READ);
  return FALSE;
}

static void source_skip(j_decompress_ptr info, long count) {
  gm_source *source = (gm_source *)info->src;
  if (count < 0) return;
  if ((size_t)count > source->base.bytes_in_buffer) {
    source->base.bytes_in_buffer = 0;
    source_fill(info);
  } else {
    source->base.bytes_in_buffer -= (size_t)count;
    source->base.next_input_byte += count;
  }
}

static void source_end(j_decompress_ptr info) { (void)info; }

/* ----------------------------------------------------------------- decoder */

gm_decoder *gm_decoder_new(const uint8_t *data, size_t length) {
  gm_decoder *decoder = calloc(1, sizeof(gm_decoder));
  if (decoder == NULL) return NULL;
  gm_init_error(&decoder->error);
  decoder->source.data = data;
  decoder->source.length = length;
  decoder->source.base.init_source = source_init;
  decoder->source.base.fill_input_buffer = source_fill;
  decoder->source.base.skip_input_data = source_skip;
  decoder->source.base.resync_to_restart = jpeg_resync_to_restart;
  decoder->source.base.term_source = source_end;
  decoder->progress.progress_monitor = on_progress;
  return decoder;
}

void gm_decoder_free(gm_decoder *decoder) {
  if (decoder == NULL) return;
  if (decoder->created) jpeg_destroy_decompress(&decoder->info);
  free(decoder->row);
  free(decoder);
}

const char *gm_decoder_message(const gm_decoder *decoder) { return decoder->error.message; }

/* Inside the caller's setjmp. */
static void read_header(gm_decoder *decoder) {
  decoder->info.err = &decoder->error.base;
  jpeg_create_decompress(&decoder->info);
  decoder->created = 1;
  decoder->info.src = &decoder->source.base;
  decoder->info.progress = &decoder->progress;
  jpeg_read_header(&decoder->info, TRUE);
}

int gm_decoder_shape(gm_decoder *decoder, uint32_t shape[3]) {
  if (setjmp(decoder->error.jump)) return GM_LIBRARY;
  read_header(decoder);
  jpeg_calc_output_dimensions(&decoder->info);
  shape[0] = decoder->info.output_height;
  shape[1] = decoder->info.output_width;
  shape[2] = (uint32_t)decoder->info.output_components;
  return GM_OK;
}

static int crop_fits(const gm_decode_options *o, JDIMENSION width, JDIMENSION height) {
  return o->crop_width > 0 && o->crop_height > 0 && o->crop_x >= 0 && o->crop_y >= 0 &&
         (int64_t)o->crop_y + o->crop_height <= (int64_t)height &&
         (int64_t)o->crop_x + o->crop_width <= (int64_t)width;
}

/* Whether libjpeg will smooth the blocks of a progressive file whose scans do not bring every coefficient: then blocks
 * further away count too. */
static int may_smooth(const struct jpeg_decompress_struct *info) {
  if (!info->progressive_mode || info->coef_bits == NULL) return 0;
  for (int c = 0; c < info->num_components; c++) {
    for (int k = 0; k < DCTSIZE2; k++) {
      if (info->coef_bits[c][k] != 0) return 1;
    }
  }
  return 0;
}

/* Passes over the rows and columns outside the window. Inside the caller's setjmp. */
static int start_crop(gm_decoder *decoder) {
  struct jpeg_decompress_struct *info = &decoder->info;
  const gm_decode_options *o = &decoder->options;
  JDIMENSION x = (JDIMENSION)o->crop_x, width = (JDIMENSION)o->crop_width, y = (JDIMENSION)o->crop_y;
  decoder->height = (uint32_t)o->crop_height;
  decoder->width = (uint32_t)o->crop_width;
  JDIMENSION end = x + width, above = 0;
  if (o->exact) {
    if (may_smooth(info)) {
      x = 0;
      end = info->output_width;
      above = y;
    } else {
      /* Smooth enlarging of the colour planes looks at the neighbours. */
      if (x > 0) x--;
      if (end < info->output_width) end++;
      if (y > 0) above = 1;
    }
  }
  width = end - x;
  /* Moves the left edge to a block border and widens the rows accordingly. */
  if (x > 0 || end < info->output_width) jpeg_crop_scanline(info, &x, &width);
  decoder->offset = (uint32_t)o->crop_x - x;
  decoder->skipped = y;
  if (jpeg_skip_scanlines(info, y - above) != y - above) return GM_LIBRARY;
  if (above > 0) {
    decoder->row = malloc((size_t)info->output_width * 4);
    if (decoder->row == NULL) return GM_MEMORY;
    for (; above > 0; above--) {
      if (jpeg_read_scanlines(info, &decoder->row, 1) != 1) return GM_LIBRARY;
    }
  }
  return GM_OK;
}

int gm_decoder_start(gm_decoder *decoder, const gm_decode_options *options, uint32_t shape[3]) {
  struct jpeg_decompress_struct *info = &decoder->info;
  decoder->options = *options;
  decoder->source.recover = options->recover;
  if (setjmp(decoder->error.jump)) return GM_LIBRARY;
  read_header(decoder);

  int channels = options->channels;
  if (channels == 0) channels = info->num_components < 3 ? info->num_components : 3;
  if (channels == 1) {
    info->out_color_space = JCS_GRAYSCALE;
  } else if (channels == 3) {
    int four = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = four ? JCS_CMYK : JCS_RGB;
  } else {
    return GM_CHANNELS;
  }
  info->do_fancy_upsampling = options->fancy_upscaling ? TRUE : FALSE;
  info->scale_num = 1;
  info->scale_denom = (unsigned int)options->ratio;
  info->dct_method = options->accurate_dct ? JDCT_ISLOW : JDCT_IFAST;

  jpeg_calc_output_dimensions(info);
  if (info->output_width == 0 || info->output_height == 0) return GM_SIZE;
  int64_t pixels = (int64_t)info->output_height * (int64_t)info->output_width;
  if (pixels >= options->limit || pixels * info->num_components >= options->limit) return GM_SIZE;

  /* FALSE means that a file of several scans ends early: reading rows then fails by libjpeg's own check. */
  (void)jpeg_start_decompress(info);

  decoder->channels = channels;
  decoder->height = info->output_height;
  decoder->width = info->output_width;
  decoder->skipped = 0;
  decoder->offset = 0;
  if (options->crop) {
    if (!crop_fits(options, info->output_width, info->output_height)) return GM_CROP;
    int result = start_crop(decoder);
    if (result != GM_OK) return result;
  }
  shape[0] = decoder->height;
  shape[1] = decoder->width;
  shape[2] = (uint32_t)channels;
  return GM_OK;
}

static void rgb_of_cmyk(const JSAMPLE *in, uint8_t *out, uint32_t width, int inverted) {
  for (uint32_t i = 0; i < width; i++, in += 4, out += 3) {
    int k = inverted ? in[3] : 255 - in[3];
    for (int j = 0; j < 3; j++) out[j] = (uint8_t)(k * (inverted ? in[j] : 255 - in[j]) / 255);
  }
}

/* Whether libjpeg's rows are not what is delivered. */
static int needs_row(const gm_decoder *decoder) {
  return decoder->info.out_color_space == JCS_CMYK || decoder->info.output_width != decoder->width;
}

/* One line (or a few, where libjpeg writes in place); how many, 0 at a premature end. */
static JDIMENSION read_lines(gm_decoder *decoder, uint8_t *line, JDIMENSION wanted) {
  struct jpeg_decompress_struct *info = &decoder->info;
  size_t stride = (size_t)decoder->width * (size_t)decoder->channels;
  if (decoder->row == NULL) {
    JSAMPROW rows[ROWS_AT_ONCE];
    if (wanted > ROWS_AT_ONCE) wanted = ROWS_AT_ONCE;
    for (JDIMENSION i = 0; i < wanted; i++) rows[i] = line + i * stride;
    return jpeg_read_scanlines(info, rows, wanted);
  }
  int cmyk = info->out_color_space == JCS_CMYK;
  size_t offset = (size_t)decoder->offset * (size_t)(cmyk ? 4 : decoder->channels);
  JDIMENSION read = jpeg_read_scanlines(info, &decoder->row, 1);
  if (read > 0) {
    if (cmyk) rgb_of_cmyk(decoder->row + offset, line, decoder->width, info->saw_Adobe_marker);
    else memcpy(line, decoder->row + offset, stride);
  }
  return read;
}

static int is_restart(int code) { return code >= JPEG_RST0 && code <= JPEG_RST0 + 7; }

/* Whether what follows the window cannot make decoding fail: the data of the one scan go on to an end marker, or those of
 * several scans have all been read. What
 * entropy coding finds wrong in them is a warning and nothing more, and no decoder of such data gets past that marker. */
static int rest_is_sound(const struct jpeg_decompress_struct *info) {
  const JOCTET *at = info->src->next_input_byte;
  size_t left = info->src->bytes_in_buffer;
  if (jpeg_has_multiple_scans((j_decompress_ptr)info)) return jpeg_input_complete((j_decompress_ptr)info);
  if (info->progressive_mode || info->arith_code) return 0;
  if (info->unread_marker == JPEG_EOI) return 1;
  if (info->unread_marker != 0 && !is_restart(info->unread_marker)) return 0;
  while (left > 1) {
    const JOCTET *mark = memchr(at, 0xFF, left - 1);
    if (mark == NULL) return 0;
    JOCTET code = mark[1];
    if (code == JPEG_EOI) return 1;
    if (code != 0 && code != 0xFF && !is_restart(code)) return 0;
    /* A second 0xFF is padding before the code. */
    const JOCTET *next = code == 0xFF ? mark + 1 : mark + 2;
    left -= (size_t)(next - at);
    at = next;
  }
  return 0;
}

int gm_decoder_read(gm_decoder *decoder, uint8_t *pixels, uint32_t *rows_read) {
  struct jpeg_decompress_struct *info = &decoder->info;
  size_t stride = (size_t)decoder->width * (size_t)decoder->channels;
  JDIMENSION end = decoder->skipped + decoder->height;
  /* Volatile, as everything that changes after setjmp: a register may be set back by longjmp. */
  volatile int complete = 1;
  *rows_read = 0;
  if (decoder->row == NULL && needs_row(decoder)) {
    decoder->row = malloc((size_t)info->output_width * 4);
    if (decoder->row == NULL) return GM_MEMORY;
  }
  if (setjmp(decoder->error.jump)) return GM_LIBRARY;
  while (info->output_scanline < end) {
    JDIMENSION at = info->output_scanline - decoder->skipped;
    if (read_lines(decoder, pixels + at * stride, end - info->output_scanline) == 0) {
      complete = 0;
      break;
    }
  }
  uint32_t rows = info->output_scanline - decoder->skipped;
  if (!complete && decoder->options.recover) {
    /* The missing lines repeat the last one. */
    for (uint32_t line = rows; line < decoder->height; line++) {
      uint8_t *to = pixels + line * stride;
      if (line == 0) memset(to, 0, stride);
      else memcpy(to, to - stride, stride);
    }
    rows = decoder->height;
    info->output_scanline = end;
    complete = 1;
  }
  if (decoder->options.exact) {
    *rows_read = rows;
    return complete && rest_is_sound(info) ? GM_OK : GM_LIBRARY;
  }
  /* Passing over all that is left reads none of it. */
  if (decoder->options.crop && info->output_scanline < info->output_height) {
    jpeg_skip_scanlines(info, info->output_height - (JDIMENSION)decoder->options.crop_y -
                                (JDIMENSION)decoder->options.crop_height);
  }
  if (complete) jpeg_finish_decompress(info);
  *rows_read = rows;
  return GM_OK;
}

int gm_decoder_rows(gm_decoder *decoder, uint8_t *pixels, uint32_t rows) {
  struct jpeg_decompress_struct *info = &decoder->info;
  size_t stride = (size_t)decoder->width * (size_t)decoder->channels;
  JDIMENSION start = info->output_scanline;
  if (decoder->row == NULL && needs_row(decoder)) {
    decoder->row = malloc((size_t)info->output_width * 4);
    if (decoder->row == NULL) return GM_MEMORY;
  }
  if (setjmp(decoder->error.jump)) return GM_LIBRARY;
  while (info->output_scanline < start + rows) {
    JDIMENSION at = info->output_scanline - start;
    if (read_lines(decoder, pixels + at * stride, rows - at) == 0) return GM_LIBRARY;
  }
  return GM_OK;
}

int gm_decoder_end(gm_decoder *decoder) {
  struct jpeg_decompress_struct *info = &decoder->info;
  if (setjmp(decoder->error.jump)) return GM_LIBRARY;
  if (decoder->options.exact) return rest_is_sound(info) ? GM_OK : GM_LIBRARY;
  if (decoder->options.crop && info->output_scanline < info->output_height) {
    jpeg_skip_scanlines(info, info->output_height - info->output_scanline);
  }
  jpeg_finish_decompress(info);
  return GM_OK;
}
