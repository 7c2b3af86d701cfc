/** Sequences that are easy to type: digits, the alphabet, rows of a keyboard. */
const RUNS = [
  '01234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
  'q1w2e3r4t5y6u7i8o9p0',
  '1q2w3e4r5t6y7u8i9o0p',
  '!@#$%^&*()',
  '147258369',
  '789456123',
  '159357',
];

export const SEQUENCES: readonly string[] = RUNS.flatMap((run) => [
  run,
  [...run].toReversed().join(''),
]);

/** The words that the most common passwords are made of, and the words of this service. */
export const COMMON_WORDS: readonly string[] = `
  password passwort passcode pass word secret private access letmein login logmein signin welcome
  admin administrator root user username guest default changeme master system server computer
  internet network security online mobile phone samsung iphone apple google facebook instagram
  whatsapp twitter youtube gmail yahoo hotmail outlook microsoft windows test testing demo sample
  temp hello namaste please thanks trustno trust iloveyou loveyou love lovely lover forever always
  never sweet honey baby darling angel heart kiss friend friends family mother father mummy daddy
  mom dad sister brother girl boy princess prince queen king lucky happy smile sunshine summer
  winter spring autumn monsoon january february march april june july august september october
  november december monday tuesday wednesday thursday friday saturday sunday football baseball
  basketball cricket hockey tennis soccer liverpool chelsea arsenal barcelona ronaldo messi sachin
  dhoni kohli superman batman spiderman ironman starwars pokemon naruto dragon monkey tiger lion
  eagle horse butterfly flower rainbow shadow hunter killer ninja warrior legend diamond golden
  silver orange banana cookie chocolate cheese coffee pepper ginger michael jordan daniel david
  robert thomas george andrew joshua matthew charlie jessica jennifer ashley michelle nicole
  jesus christ church godisgood god bless krishna ganesh ganesha shiva hanuman lakshmi saibaba
  omsairam jaimatadi waheguru allah bismillah india indian bharat hindustan mumbai delhi chennai
  kolkata bangalore bengaluru hyderabad pune rahul priya rohit amit kumar singh sharma freedom
  whatever nothing something money bank rupee rupees payment payments merchant business company
  shop store account order orders dashboard operator support finance office
`
  .trim()
  .split(/\s+/);
