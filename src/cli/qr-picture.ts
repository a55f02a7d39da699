/** A code in half blocks for a terminal; the package is loaded by those who show one. */
export async function qrPicture(text: string): Promise<string> {
  const { default: encodeQR } = await import('qr');
  return encodeQR(text, 'ascii', { border: 2 });
}
