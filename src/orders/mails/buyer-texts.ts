import type { RefundReason } from '../../domain/index.ts';
import { rupeesText, timeText } from '../../pages/format.ts';
import type { Language } from '../../pages/language.ts';

/** The values that mails to a buyer contain. */
export interface BuyerFacts {
  merchantName: string;
  amountPaise: number;
  /** How long the buyer can raise a dispute after the delivery. */
  windowHours: number;
}

/** The text of a mail, without the facts of its order. */
export interface BuyerText {
  subject: string;
  paragraphs: string[];
}

export type SurplusReason = 'wrong_amount' | 'late_payment' | 'already_paid';
export type BuyerRefundReason = RefundReason | SurplusReason;

export interface DisputeCircumstances {
  /** True if an operator raised it for the buyer. */
  isByOperator: boolean;
  isReviewed: boolean;
}

const EN = {
  labels: {
    amount: 'Amount',
    merchant: 'Merchant',
    description: 'For',
    order: 'Order',
    payment: 'Payment id',
    utr: 'UTR',
    deadline: 'Until',
  },
  /** The label of the button that leads to the order's page. */
  page: 'See your order',
  receipt: ({ merchantName, amountPaise, windowHours }: BuyerFacts) => ({
    subject: `You paid ${rupeesText(amountPaise)} to ${merchantName}`,
    paragraphs: [
      `Your payment has arrived, and we hold it until ${merchantName} has delivered.`,
      `What is protected: the whole amount. If your order does not arrive, or is not what you ordered, raise a dispute on its page. You can do so until ${windowHours} hours after the delivery; then the money goes to ${merchantName}.`,
      'Keep this mail: its link is the only way to the page of your order.',
    ],
  }),
  delivered: ({ merchantName, amountPaise }: BuyerFacts, until: Date) => ({
    subject: `${merchantName} has delivered your order`,
    paragraphs: [
      `${merchantName} has marked your order as delivered.`,
      `If it has not arrived, or is not what you ordered, raise a dispute by ${timeText(until)}. Then ${rupeesText(amountPaise)} goes to ${merchantName}. If all is well, there is nothing to do.`,
    ],
  }),
  disputeRaised: (
    { merchantName, amountPaise }: BuyerFacts,
    until: Date,
    { isByOperator, isReviewed }: DisputeCircumstances,
  ) => ({
    subject: 'Your dispute is raised',
    paragraphs: [
      `${isByOperator ? 'We have raised a dispute for you' : 'We have your dispute'}, and hold ${rupeesText(amountPaise)} until it has ended.`,
      isReviewed
        ? `We decide it ourselves; ${merchantName} can send evidence. Without a decision by ${timeText(until)} you are refunded in full.`
        : `${merchantName} has until ${timeText(until)} to answer. Without an answer you are refunded in full.`,
    ],
  }),
  evidenceSubmitted: ({ merchantName }: BuyerFacts, until: Date) => ({
    subject: `${merchantName} has answered your dispute`,
    paragraphs: [
      `${merchantName} has answered your dispute with evidence, which you can read on the page of your order.`,
      `We now look at what both of you have said, and decide. If the dispute has not ended by ${timeText(until)}, you are refunded in full.`,
    ],
  }),
  resolvedByMerchant: ({ merchantName, amountPaise }: BuyerFacts, until: Date) => ({
    subject: `${merchantName} says that your dispute is resolved`,
    paragraphs: [
      `${merchantName} has resolved your dispute. The page of your order has what was said.`,
      `If that is not so, raise another dispute by ${timeText(until)}. Then ${rupeesText(amountPaise)} goes to ${merchantName}.`,
    ],
  }),
  decidedForMerchant: ({ merchantName, amountPaise }: BuyerFacts, until: Date) => ({
    subject: `Your dispute is decided for ${merchantName}`,
    paragraphs: [
      `We have looked at what both of you have said, and have decided for ${merchantName}. The page of your order has the reason.`,
      `${rupeesText(amountPaise)} goes to ${merchantName} on ${timeText(until)}.`,
    ],
  }),
  refunded: ({ merchantName, amountPaise }: BuyerFacts, reason: BuyerRefundReason) => {
    const reasons: Record<BuyerRefundReason, string> = {
      merchant_refund: `${merchantName} has refunded your order.`,
      dispute_accepted: `${merchantName} has accepted your dispute.`,
      dispute_decided_for_buyer: 'We have decided your dispute for you.',
      dispute_not_resolved_in_time: `Your dispute with ${merchantName} was not resolved in time.`,
      settled_by_operator:
        'We have settled your order. Its page has the reason and the reference of the transfer, if there was one.',
      wrong_amount: `Your payment was not the amount of the order of ${merchantName}.`,
      late_payment: `Your payment came after the order of ${merchantName} was cancelled.`,
      already_paid: `The order of ${merchantName} was already paid when your payment came.`,
    };
    return {
      subject: `${rupeesText(amountPaise)} is on its way back to you`,
      paragraphs: [
        reasons[reason],
        'The refund is on its way to the account that you paid from. It is there within 5 to 7 working days; your bank says when.',
      ],
    };
  },
  /** For an order that ends as refunded although the buyer's bank has returned all of the money before. */
  returnedBefore: ({ merchantName }: BuyerFacts) => ({
    subject: `Your order of ${merchantName} has ended`,
    paragraphs: [
      'The money of this order was returned to you before, through your bank: we make no second refund.',
    ],
  }),
};

const HI: typeof EN = {
  labels: {
    amount: 'रकम',
    merchant: 'विक्रेता',
    description: 'किसके लिए',
    order: 'ऑर्डर',
    payment: 'भुगतान आईडी',
    utr: 'UTR',
    deadline: 'समय सीमा',
  },
  page: 'अपना ऑर्डर देखें',
  receipt: ({ merchantName, amountPaise, windowHours }) => ({
    subject: `आपने ${merchantName} को ${rupeesText(amountPaise)} का भुगतान किया`,
    paragraphs: [
      `आपका भुगतान मिल गया है। ${merchantName} के डिलीवरी करने तक पैसा हमारे पास सुरक्षित रहेगा।`,
      `पूरी रकम सुरक्षित है। अगर ऑर्डर नहीं पहुँचा, या वैसा नहीं है जैसा आपने मँगाया था, तो ऑर्डर के पेज पर विवाद दर्ज करें। यह आप डिलीवरी के ${windowHours} घंटे बाद तक कर सकते हैं; उसके बाद पैसा ${merchantName} को मिल जाएगा।`,
      'यह मेल सँभालकर रखें: ऑर्डर के पेज तक पहुँचने का रास्ता सिर्फ़ इसका लिंक है।',
    ],
  }),
  delivered: ({ merchantName, amountPaise }, until) => ({
    subject: `${merchantName} ने आपका ऑर्डर डिलीवर कर दिया है`,
    paragraphs: [
      `${merchantName} ने बताया है कि आपका ऑर्डर डिलीवर हो गया है।`,
      `अगर ऑर्डर नहीं पहुँचा, या वैसा नहीं है जैसा आपने मँगाया था, तो ${timeText(until, 'hi')} तक विवाद दर्ज करें। उसके बाद ${rupeesText(amountPaise)} ${merchantName} को मिल जाएँगे। अगर सब ठीक है, तो आपको कुछ नहीं करना है।`,
    ],
  }),
  disputeRaised: ({ merchantName, amountPaise }, until, { isByOperator, isReviewed }) => ({
    subject: 'आपका विवाद दर्ज हो गया है',
    paragraphs: [
      `${isByOperator ? 'हमने आपकी ओर से विवाद दर्ज किया है' : 'हमें आपका विवाद मिल गया है'}। इसके ख़त्म होने तक ${rupeesText(amountPaise)} हमारे पास सुरक्षित रहेंगे।`,
      isReviewed
        ? `इसका फ़ैसला हम ख़ुद करेंगे; ${merchantName} अपना सबूत दे सकते हैं। ${timeText(until, 'hi')} तक फ़ैसला न होने पर आपको पूरा रिफ़ंड मिलेगा।`
        : `${merchantName} के पास जवाब देने के लिए ${timeText(until, 'hi')} तक का समय है। जवाब न मिलने पर आपको पूरा रिफ़ंड मिलेगा।`,
    ],
  }),
  evidenceSubmitted: ({ merchantName }, until) => ({
    subject: `${merchantName} ने आपके विवाद का जवाब दिया है`,
    paragraphs: [
      `${merchantName} ने आपके विवाद पर अपना सबूत दिया है। इसे आप ऑर्डर के पेज पर पढ़ सकते हैं।`,
      `अब हम दोनों पक्षों की बात देखकर फ़ैसला करेंगे। अगर ${timeText(until, 'hi')} तक विवाद ख़त्म नहीं हुआ, तो आपको पूरा रिफ़ंड मिलेगा।`,
    ],
  }),
  resolvedByMerchant: ({ merchantName, amountPaise }, until) => ({
    subject: `${merchantName} के अनुसार आपका विवाद सुलझ गया है`,
    paragraphs: [
      `${merchantName} ने आपका विवाद सुलझा दिया है। उनका जवाब ऑर्डर के पेज पर है।`,
      `अगर ऐसा नहीं है, तो ${timeText(until, 'hi')} तक फिर से विवाद दर्ज करें। उसके बाद ${rupeesText(amountPaise)} ${merchantName} को मिल जाएँगे।`,
    ],
  }),
  decidedForMerchant: ({ merchantName, amountPaise }, until) => ({
    subject: `आपके विवाद का फ़ैसला ${merchantName} के पक्ष में हुआ है`,
    paragraphs: [
      `हमने दोनों पक्षों की बात देखकर फ़ैसला ${merchantName} के पक्ष में किया है। कारण ऑर्डर के पेज पर है।`,
      `${rupeesText(amountPaise)} ${timeText(until, 'hi')} को ${merchantName} को मिल जाएँगे।`,
    ],
  }),
  refunded: ({ merchantName, amountPaise }, reason) => {
    const reasons: Record<BuyerRefundReason, string> = {
      merchant_refund: `${merchantName} ने आपके ऑर्डर का रिफ़ंड किया है।`,
      dispute_accepted: `${merchantName} ने आपका विवाद मान लिया है।`,
      dispute_decided_for_buyer: 'हमने आपके विवाद का फ़ैसला आपके पक्ष में किया है।',
      dispute_not_resolved_in_time: `${merchantName} के साथ आपका विवाद समय पर नहीं सुलझा।`,
      settled_by_operator:
        'हमने आपके ऑर्डर का निपटारा कर दिया है। कारण, और अगर बैंक ट्रांसफ़र हुआ तो उसका संदर्भ, ऑर्डर के पेज पर है।',
      wrong_amount: `आपका भुगतान ${merchantName} के ऑर्डर की रकम के बराबर नहीं था।`,
      late_payment: `आपका भुगतान ${merchantName} का ऑर्डर रद्द होने के बाद आया।`,
      already_paid: `जब आपका भुगतान आया, तब ${merchantName} के ऑर्डर का भुगतान हो चुका था।`,
    };
    return {
      subject: `${rupeesText(amountPaise)} आपको वापस मिल रहे हैं`,
      paragraphs: [
        reasons[reason],
        'रिफ़ंड उसी खाते में भेजा गया है जिससे आपने भुगतान किया था। यह 5 से 7 कार्यदिवसों में पहुँच जाएगा; आपका बैंक इसकी सूचना देगा।',
      ],
    };
  },
  returnedBefore: ({ merchantName }) => ({
    subject: `${merchantName} का आपका ऑर्डर समाप्त हो गया है`,
    paragraphs: [
      'इस ऑर्डर का पैसा आपके बैंक के ज़रिए आपको पहले ही लौटाया जा चुका है, इसलिए हम दूसरा रिफ़ंड नहीं भेजेंगे।',
    ],
  }),
};

export const BUYER_TEXTS: Record<Language, typeof EN> = { en: EN, hi: HI };
