/** Returns the value of the field that an event comes from; `on` or nothing for a checkbox. */
export function inputValue(event: Event): string {
  const { target } = event;
  if (target instanceof HTMLInputElement && target.type === 'checkbox') return target.checked ? 'on' : '';
  const isField = target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
  return isField ? target.value : '';
}

/** Returns the fields of a form that is submitted, by name; trimmed, except for secrets. */
export function formValues(event: SubmitEvent): Readonly<Record<string, string>> {
  event.preventDefault();
  const form = event.currentTarget;
  if (!(form instanceof HTMLFormElement)) return {};
  const secrets = new Set([...form.querySelectorAll<HTMLInputElement>('input[type=password]')].map(({ name }) => name));
  return Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, secrets.has(name) ? String(value) : String(value).trim()]),
  );
}
