import type { Block } from './page.ts';

/**
 * A QR code in half blocks; where the terminal is too narrow for it, how wide it has to be. A screen has no scratches, so that
 * the least of error correction does and the code stays small. The package is loaded by those who show one.
 */
export async function qrPicture(text: string): Promise<Block> {
  const { default: encodeQR } = await import('qr');
  const picture = encodeQR(text, 'ascii', { border: 2, ecc: 'low' });
  const width = picture.indexOf('\n');
  const advice = `The QR code needs ${width} columns: make the terminal wider, or its letters smaller, and run this again.\n`;
  return { render: ({ columns = width }) => (columns < width ? advice : picture) };
}
