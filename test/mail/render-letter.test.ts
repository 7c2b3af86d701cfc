import { expect, test } from 'vitest';
import { renderLetter } from '../../src/mail/render-letter.ts';

const letter = {
  subject: 'A <b> subject',
  paragraphs: [
    'First & <i>foremost</i>',
    {
      facts: [
        ['Amount', '₹499.00'] as [string, string],
        ['For', '<script>x</script>'] as [string, string],
      ],
    },
    { label: 'Your order', url: 'https://pay.example/pay/a?b=1&c="' },
  ],
};

test('both forms of a letter say the same, and what is in it is text', () => {
  const { subject, text, html } = renderLetter(letter, 'help@pay.example');
  expect(subject).toBe('A <b> subject');
  expect(text).toBe(
    'First & <i>foremost</i>\n\nAmount: ₹499.00\nFor: <script>x</script>\n\nYour order:\n' +
      'https://pay.example/pay/a?b=1&c="\n\nMerchant Payments. Questions? Write to help@pay.example\n',
  );
  expect(html).toContain('<h1 dir="auto">A &lt;b> subject</h1>');
  expect(html).toContain('First &amp; &lt;i>foremost&lt;/i>');
  expect(html).toContain('href="https://pay.example/pay/a?b=1&amp;c=&quot;"');
  expect(html).not.toMatch(/<script|<i>|<b>/);
});

test('a letter in Hindi says so, and its last line is Hindi', () => {
  const { text, html } = renderLetter({ ...letter, language: 'hi' }, 'help@pay.example');
  expect(html).toContain('<html lang="hi">');
  expect(text).toContain('कोई सवाल? help@pay.example पर लिखें');
});

test('without a support address none is named', () => {
  expect(renderLetter(letter, undefined).text).toMatch(/\n\nMerchant Payments\n$/);
});
