import type { ComponentChildren } from 'preact';
import type { HeadlineFacts, Texts } from './en.ts';

const LINK_EXPIRED = 'इस भुगतान लिंक की समय-सीमा समाप्त हो गई है';
const REFUND_ON_ITS_WAY = 'आपका रिफ़ंड भेजा जा रहा है';
const OR_REFUNDED = 'अगर तब तक विवाद नहीं सुलझा, तो आपके पैसे वापस मिल जाएँगे।';
const NO_SECOND_PAYMENT = 'कृपया दोबारा भुगतान न करें: पूरा होने पर वह इस पेज पर दिखेगा।';
const RESOLVED = 'व्यापारी ने विवाद सुलझाया';
const DECIDED_FOR_MERCHANT = 'विवाद का फ़ैसला व्यापारी के पक्ष में हुआ';
const NOTHING_CHARGED = 'आपसे कोई पैसा नहीं लिया गया।';

const toAnswer = ({ merchant, answerBy }: HeadlineFacts) =>
  `${merchant} के पास जवाब देने के लिए ${answerBy} तक का समय है। ${OR_REFUNDED}`;

/** The texts in Hindi, in the words that UPI apps in India use. */
export const HI: Texts = {
  language: 'hi',
  htmlLang: 'hi-IN',
  languages: 'भाषा',
  other: { language: 'en', name: 'English' },
  sandbox: 'सैंडबॉक्स',
  sandboxNotice: 'यहाँ असली पैसों का लेन-देन नहीं होता।',
  reference: {
    before: 'सहायता के लिए संदर्भ: ',
    beforeAddress: '। फिर ऐसा हो तो ',
    afterAddress: ' पर यह संदर्भ लिखकर भेजें।',
  },

  headlines: {
    payable: ({ amount, payBy }) => ({
      title: `UPI से ${amount} का भुगतान करें`,
      text: `ऑर्डर की डिलीवरी होने तक आपके पैसे सुरक्षित रखे जाते हैं। यह लिंक ${payBy} तक खुला है।`,
    }),
    waiting: () => ({
      title: 'आपके भुगतान का इंतज़ार है',
      text: 'अपने UPI ऐप में भुगतान करें, फिर इस पेज पर लौट आएँ।',
    }),
    session_expired: () => ({
      title: 'भुगतान का समय समाप्त हो गया',
      text:
        'समय पर कोई भुगतान नहीं मिला। आपका ऑर्डर अब भी खुला है: नए QR कोड के लिए फिर से शुरू करें। ' +
        'अगर आपने अभी-अभी भुगतान किया है, तो दोबारा भुगतान करने से पहले एक मिनट रुककर स्थिति देखें।',
    }),
    confirming: () => ({
      title: 'भुगतान मिल गया',
      text: `आपके ऑर्डर की पुष्टि की जा रही है। ${NO_SECOND_PAYMENT}`,
    }),
    reported: ({ amount }) => ({
      title: 'आपके भुगतान की पुष्टि की जा रही है',
      text: `आपके ${amount} के भुगतान की सूचना हमें मिल गई है और उसकी पुष्टि की जा रही है। ${NO_SECOND_PAYMENT}`,
    }),
    looked_at: ({ merchant }) => ({
      title: 'आपके भुगतान की जाँच की जा रही है',
      text: `हमें आपका भुगतान मिला है, पर यह ऑर्डर उसे नहीं ले सका: वह किसी दूसरी मुद्रा में है, या उसका एक हिस्सा लौटाया जा चुका है। हम इसकी जाँच कर रहे हैं। कृपया दोबारा भुगतान न करें: कोई सवाल हो, तो ${merchant} से पूछें।`,
    }),
    link_expired: ({ merchant }) => ({
      title: LINK_EXPIRED,
      text: `नए लिंक के लिए ${merchant} से संपर्क करें।`,
    }),
    merchant_unavailable: ({ merchant }) => ({
      title: 'अभी भुगतान नहीं हो सकता',
      text: `${merchant} को अभी भुगतान नहीं किया जा सकता। अगर आप भुगतान कर चुके हैं, तो वह इस पेज पर दिखेगा।`,
    }),
    closing: () => ({
      title: 'यह ऑर्डर रद्द किया जा रहा है',
      text: 'कृपया अब भुगतान न करें। अगर आप भुगतान कर चुके हैं, तो वह इस पेज पर दिखेगा।',
    }),
    paid: ({ amount, merchant }) => ({
      title: 'भुगतान सफल रहा',
      text: `${amount} का भुगतान हो गया है। ये पैसे आपके लिए सुरक्षित हैं: ${merchant} को डिलीवरी के बाद मिलेंगे।`,
    }),
    delivered: ({ merchant, disputeBy }) => ({
      title: 'डिलीवर हो गया',
      text: `${merchant} ने बताया है कि आपका ऑर्डर डिलीवर हो गया है। कोई समस्या हो, तो ${disputeBy} से पहले बताएँ: तब तक आपके पैसे सुरक्षित हैं।`,
    }),
    resolved: ({ merchant, disputeBy }) => ({
      title: RESOLVED,
      text: `${merchant} का कहना है कि आपका विवाद सुलझ गया है। अगर अब भी कोई समस्या है, तो ${disputeBy} से पहले बताएँ: तब तक आपके पैसे सुरक्षित हैं।`,
    }),
    resolved_last: ({ merchant, disputeBy }) => ({
      title: RESOLVED,
      text: `${merchant} का कहना है कि आपका विवाद सुलझ गया है। अब आप कोई और विवाद दर्ज नहीं कर सकते: ${disputeBy} के बाद पैसे ${merchant} को मिल जाएँगे।`,
    }),
    decided: ({ merchant, disputeBy }) => ({
      title: DECIDED_FOR_MERCHANT,
      text: `हमने आपके विवाद की जाँच की और ${merchant} के पक्ष में फ़ैसला किया। ${disputeBy} के बाद पैसे ${merchant} को मिल जाएँगे।`,
    }),
    disputed: (facts) => ({ title: 'आपने विवाद दर्ज किया है', text: toAnswer(facts) }),
    disputed_for_buyer: (facts) => ({
      title: 'हमने आपके लिए विवाद दर्ज किया है',
      text: toAnswer(facts),
    }),
    reviewed: ({ merchant, answerBy }) => ({
      title: 'आपके विवाद का फ़ैसला हम करेंगे',
      text: `आपके मामले की जाँच ${answerBy} तक चलेगी। तब तक ${merchant} अपना सबूत दे सकते हैं। ${OR_REFUNDED}`,
    }),
    under_review: ({ merchant, answerBy }) => ({
      title: 'आपके विवाद की जाँच चल रही है',
      text: `${merchant} ने जवाब दे दिया है। आपके मामले की जाँच ${answerBy} तक चलेगी। ${OR_REFUNDED}`,
    }),
    releasing: ({ merchant }) => ({
      title: 'आपका ऑर्डर पूरा किया जा रहा है',
      text: `समस्या बताने का समय समाप्त हो गया है। पैसे ${merchant} को भेजे जा रहे हैं।`,
    }),
    completed: ({ merchant }) => ({
      title: 'ऑर्डर पूरा हुआ',
      text: `समस्या बताने का समय समाप्त हो गया है और पैसे ${merchant} को मिल गए हैं।`,
    }),
    refunding: ({ amount }) => ({
      title: REFUND_ON_ITS_WAY,
      text: `${amount} उसी खाते में वापस भेजे जा रहे हैं, जिससे आपने भुगतान किया था।`,
    }),
    refunded: ({ refund }) => ({
      title: 'रिफ़ंड हो गया',
      text: `${refund} उसी खाते में वापस भेज दिए गए हैं, जिससे आपने भुगतान किया था। बैंक में दिखने में कुछ दिन लग सकते हैं।`,
    }),
    refunded_by_transfer: ({ refund }) => ({
      title: 'रिफ़ंड हो गया',
      text: `${refund} आपको बैंक ट्रांसफ़र से लौटा दिए गए हैं।`,
    }),
    refund_returned: ({ refund }) => ({
      title: REFUND_ON_ITS_WAY,
      text: `आपके बैंक ने ${refund} का रिफ़ंड लौटा दिया है: इसे फिर से भेजा जा रहा है।`,
    }),
    cancelled: ({ merchant, hasOtherPayment }) => ({
      title: 'यह ऑर्डर रद्द हो गया है',
      text: `इसे ${merchant} ने रद्द किया है।${hasOtherPayment ? '' : ` ${NOTHING_CHARGED}`}`,
    }),
    cancelled_by_expiry: ({ merchant, hasOtherPayment }) => ({
      title: LINK_EXPIRED,
      text: `समय पर भुगतान न होने से ऑर्डर रद्द हो गया है।${hasOtherPayment ? '' : ` ${NOTHING_CHARGED}`} नए लिंक के लिए ${merchant} से संपर्क करें।`,
    }),
  },

  payment: {
    section: 'भुगतान',
    pay: 'अभी भुगतान करें',
    tryAgain: 'फिर से कोशिश करें',
    failed: 'आपका पिछला भुगतान नहीं हो पाया। आप फिर से कोशिश कर सकते हैं।',
    timeLeft: 'बचा हुआ समय ',
    until: (time: ComponentChildren) => [time, ' तक'],
    sandboxApp: 'सैंडबॉक्स के UPI ऐप में भुगतान करें',
    upiApp: 'मेरा UPI ऐप खोलें',
    upiApps: 'इनमें से कोई ऐप खोलें',
    notOpened:
      'कोई UPI ऐप नहीं खुला। नीचे दिया UPI पता कॉपी करके अपने UPI ऐप में उस पर भुगतान करें, या यह पेज किसी दूसरे ब्राउज़र में खोलें।',
    addressHint:
      'कोई ऐप नहीं खुलता? दूसरे ऐप के अंदर का ब्राउज़र अक्सर कोई ऐप नहीं खोल पाता: अपने UPI ऐप में इस पते पर भुगतान करें।',
    address: 'UPI पता ',
    amount: 'रक़म ',
    copyAddress: 'UPI पता कॉपी करें',
    copied: 'कॉपी हो गया',
    qrCode: 'किसी भी UPI ऐप से भुगतान करने के लिए QR कोड',
    scan: 'किसी भी UPI ऐप से स्कैन करें',
    sandboxScan: 'असली UPI ऐप इस कोड को पढ़ता है, पर सैंडबॉक्स में भुगतान नहीं कर सकता',
  },

  lookedAt: 'इस ऑर्डर के लिए आपके एक और भुगतान की जाँच की जा रही है।',

  surplus: {
    reasons: {
      wrong_amount: (amount) => `${amount} का एक भुगतान इस ऑर्डर की रक़म के बराबर नहीं है। `,
      late_payment: (amount) => `${amount} का एक भुगतान इस ऑर्डर के रद्द होने के बाद मिला। `,
      already_paid: (amount) => `${amount} का एक भुगतान तब मिला, जब इस ऑर्डर का भुगतान हो चुका था। `,
    },
    underWay: 'इसे पूरा का पूरा आपको वापस भेजा जा रहा है।',
    refunded: (time) => `इसे ${time} को आपको वापस भेज दिया गया।`,
  },

  progress: {
    title: 'आपके ऑर्डर की प्रगति',
    steps: {
      PAYMENT_SUCCESS: 'भुगतान हुआ',
      DELIVERY_CONFIRMED: 'डिलीवर हुआ',
      DISPUTE_RAISED: 'विवाद दर्ज हुआ',
      EVIDENCE_SUBMITTED: 'व्यापारी का जवाब',
      DISPUTE_RESOLVED: RESOLVED,
      ORDER_COMPLETED: 'ऑर्डर पूरा हुआ',
      REFUND_STARTED: 'रिफ़ंड शुरू हुआ',
      REFUND_PROCESSED: 'रिफ़ंड हुआ',
    },
    decidedForMerchant: DECIDED_FOR_MERCHANT,
    forMerchant: 'व्यापारी की ओर से, भुगतान सेवा ने किया',
    trackingId: 'ट्रैकिंग ID: ',
    refundReasons: {
      merchant_refund: 'व्यापारी आपके पैसे लौटा रहा है',
      dispute_not_resolved_in_time: 'विवाद समय पर नहीं सुलझा',
      dispute_accepted: 'व्यापारी ने विवाद स्वीकार किया',
      dispute_decided_for_buyer: 'विवाद का फ़ैसला आपके पक्ष में हुआ',
      settled_by_operator: 'भुगतान सेवा ने निपटाया',
    },
    upcoming: {
      delivery: 'डिलीवरी',
      completion: 'ऑर्डर पूरा होना',
      decision: 'फ़ैसला',
      refund: 'रिफ़ंड',
    },
  },

  disputes: {
    title: 'आपका विवाद',
    numbered: (number) => `आपका विवाद ${number}`,
    earlier: 'पहले के विवाद',
    reason: 'आपने यह लिखा',
    reasonOfService: 'हमने इसे आपके लिए दर्ज किया, क्योंकि',
    evidence: 'व्यापारी का जवाब',
    resolution: 'व्यापारी ने इसे ऐसे सुलझाया',
    decidedFor: {
      buyer: 'फ़ैसला आपके पक्ष में, क्योंकि',
      merchant: 'फ़ैसला व्यापारी के पक्ष में, क्योंकि',
    },
    endings: {
      accepted_by_merchant: 'व्यापारी ने इसे स्वीकार किया: आपके पैसे वापस मिलेंगे।',
      not_resolved_in_time: 'यह समय पर नहीं सुलझा: आपके पैसे वापस मिलेंगे।',
      settled_by_operator: 'हमने इसे निपटाया: नीचे देखें।',
    },
    unsent: 'आपका संदेश नहीं भेजा गया',
  },

  disputeForm: {
    summary: 'मेरे ऑर्डर में कोई समस्या है',
    label: 'क्या समस्या है?',
    hint: (merchant: ComponentChildren) => [
      '10 से 2000 अक्षरों में लिखें। इसे ',
      merchant,
      ' को दिखाया जाएगा। विवाद चलने तक आपके पैसे सुरक्षित रखे जाते हैं।',
    ],
    violation: 'कारण 10 से 2000 अक्षरों का होना चाहिए और ख़ाली नहीं हो सकता।',
    submit: 'विवाद दर्ज करें',
  },

  problems: {
    no_more_sessions:
      'इस ऑर्डर के लिए अब कोई और भुगतान शुरू नहीं हो सकता। नए लिंक के लिए व्यापारी से संपर्क करें।',
    gateway_unavailable: 'UPI भुगतान प्रणाली से अभी संपर्क नहीं हो पा रहा है। कुछ मिनट बाद फिर से कोशिश करें।',
    payments_not_available:
      'इस व्यापारी को अभी भुगतान नहीं किया जा सकता। भुगतान कैसे करें, यह व्यापारी से पूछें।',
    dispute_not_confirmed:
      'हम आपके विवाद की पुष्टि नहीं कर पाए। एक मिनट बाद यह पेज फिर से देखें। अगर तब भी विवाद न दिखे, ' +
      'तो उसे एक बार और भेजें।',
    dispute_refused:
      'इस ऑर्डर पर अभी विवाद दर्ज नहीं हो सकता: यह भुगतान के बाद और ऑर्डर पूरा होने से पहले ही हो सकता है।',
    dispute_most: 'विवाद दर्ज नहीं हो सकता: इस ऑर्डर पर 5 विवाद हो चुके हैं।',
    dispute_decided: 'विवाद दर्ज नहीं हो सकता: इस ऑर्डर का फ़ैसला व्यापारी के पक्ष में हो चुका है।',
  },

  settlement: {
    titles: {
      paidMerchant: 'व्यापारी को बैंक ट्रांसफ़र से पैसे दिए गए, क्योंकि',
      paidBuyer: 'आपको बैंक ट्रांसफ़र से पैसे लौटाए गए, क्योंकि',
      recorded: 'हमने इसे निपटाया, क्योंकि',
    },
    reference: 'इसका संदर्भ: ',
  },

  checkAgain: 'स्थिति फिर से देखें',
  changed: 'यह ऑर्डर बदल गया है: स्थिति फिर से देखें।',
  questions: 'ऑर्डर के बारे में पूछें: ',
  backTo: (host: ComponentChildren) => [host, ' पर वापस जाएँ'],
  merchantReference: 'संदर्भ ',
  order: 'ऑर्डर ',

  refusals: {
    400: {
      title: 'यह नहीं हो पाया',
      text: 'फ़ॉर्म सही रूप में नहीं मिला। अपना भुगतान लिंक फिर से खोलें और इसे एक बार और भेजें।',
    },
    403: {
      title: 'यह फ़ॉर्म किसी दूसरी साइट से आया है',
      text: 'अपना भुगतान लिंक फिर से खोलें और उसी पेज का फ़ॉर्म भरें।',
    },
    404: {
      title: 'भुगतान पेज नहीं मिला',
      text: 'देखें कि लिंक पूरा है या नहीं, या व्यापारी से नया लिंक माँगें।',
    },
    408: {
      title: 'इसे पहुँचने में बहुत समय लगा',
      text: 'अपना भुगतान लिंक फिर से खोलें और इसे एक बार और भेजें।',
    },
    413: {
      title: 'यह बहुत लंबा है',
      text: 'अपना भुगतान लिंक फिर से खोलें और 10 से 2000 अक्षरों में लिखें।',
    },
    429: {
      title: 'बहुत ज़्यादा अनुरोध',
      text: 'इस समय बहुत लोग इस पेज का उपयोग कर रहे हैं। कुछ सेकंड बाद फिर से कोशिश करें।',
    },
  },
  serverError: {
    title: 'कोई गड़बड़ी हुई',
    text:
      'ग़लती हमारी ओर से है। एक मिनट बाद अपना भुगतान लिंक फिर से खोलें: वहाँ दिखेगा कि आपका काम ' +
      'हुआ या नहीं।',
  },
};
