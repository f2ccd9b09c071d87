/** Texts of the live service (public-facts 1.9), in the language of the account. */
type Language = 'ru' | 'en';
type Text = Record<Language, string>;

/** Begins each `error_description`. */
const PREFIX: Text = { ru: 'Ошибка при выполнении операции: ', en: 'Error during operation: ' };

/** What the live service says for reasons that public clients saw. For the others the sandbox says its own reason. */
const SAID = {
  not_found: { ru: 'запись не найдена', en: 'the record was not found' },
  registered_already: {
    ru: 'указанные данные уже зарегистрированы в системе',
    en: 'these data are registered in the system already',
  },
  not_identified: {
    ru: 'указанные данные не могут быть идентифицированы (не зарегистрированы)',
    en: 'these data cannot be identified (they are not registered)',
  },
  certificate_expired: { ru: 'срок действия сертификата истек', en: 'the certificate has expired' },
  certificate_of_another: {
    ru: 'сертификат принадлежит другому пользователю',
    en: 'the certificate belongs to another user',
  },
} as const satisfies Record<string, Text>;

const CODES = {
  2: { ru: 'Запрашиваемые данные не найдены', en: 'The requested data were not found' },
  4: {
    ru: 'Запрашиваемые данные доступны только текущему владельцу или контрагенту по операции',
    en: 'The requested data are open to the current owner or the counterparty of the operation only',
  },
} as const satisfies Record<number, Text>;

/** Words of the live service for a refusal; `not_yours` stands without the beginning. */
export type Said = keyof typeof SAID | 'not_yours';

/** The `error_description` of a refusal: the words of the live service where they are known, else the reason given. */
export function errorDescription(language: Language, said: Said | undefined, reason: string): string {
  if (said === 'not_yours') return CODES[4][language];
  return PREFIX[language] + (said === undefined ? reason : SAID[said][language]);
}

/** `error_code` and `error_desc` of answers of 200: 2 not found, 4 none of the caller's business (public-facts 1.9). */
export const coded = (code: keyof typeof CODES, language: Language): { error_code: number; error_desc: string } => ({
  error_code: code,
  error_desc: CODES[code][language],
});
