import encodeQR from 'qr';

const WIDTH = 640;
const HEIGHT = 480;
const MODULE = 10;
const WHITE = 235;
const BLACK = 16;
const NO_COLOUR = 128;

/** A film (YUV4MPEG2, one frame) of a QR code held into the camera, as Chromium's fake camera plays it. */
export function filmOf(text: string): Buffer {
  const modules = encodeQR(text, 'raw', { border: 2 });
  const left = Math.floor((WIDTH - modules.length * MODULE) / 2);
  const top = Math.floor((HEIGHT - modules.length * MODULE) / 2);
  const luma = Buffer.alloc(WIDTH * HEIGHT, WHITE);
  for (const [row, cells] of modules.entries()) {
    for (const [column, isDark] of cells.entries()) {
      if (isDark) darken(luma, left + column * MODULE, top + row * MODULE);
    }
  }
  const chroma = Buffer.alloc((WIDTH * HEIGHT) / 2, NO_COLOUR);
  return Buffer.concat([Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F10:1 Ip A1:1 C420jpeg\nFRAME\n`), luma, chroma]);
}

function darken(luma: Buffer, x: number, y: number): void {
  for (let line = y; line < y + MODULE; line++) luma.fill(BLACK, line * WIDTH + x, line * WIDTH + x + MODULE);
}
