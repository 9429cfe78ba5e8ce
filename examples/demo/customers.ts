/** The customers that the bank brings into the network, as its core system has them. */
const NAMES = `Adaeze Okonkwo, Babatunde Adeyemi, Chinedu Eze, Damilola Ogunleye, Efe Omoregie, Fatima Bello,
  Gbenga Afolabi, Halima Sani, Ifeoma Nwachukwu, Jide Balogun, Kelechi Obi, Ladi Gambo, Musa Danjuma,
  Ngozi Umeh, Olumide Fashola, Patience Etim, Rukayat Lawal, Simisola Adebayo, Tamuno Briggs, Uche Anyanwu,
  Victor Ekpo, Wuraola Ajayi, Yusuf Abubakar, Zainab Mohammed, Tersoo Iorliam`;

const BRANCHES = ['garki', 'ikeja', 'nnewi'];

export const CUSTOMERS = NAMES.split(/,\s+/).map((name, n) => {
  const [firstname = '', lastname = ''] = name.split(' ');
  return {
    clientRef: `core-${1001 + n}`,
    firstname,
    lastname,
    accountName: `${lastname} ${firstname}`.toUpperCase(),
    email: `${firstname}.${lastname}@example.com`.toLowerCase(),
    country: 'NG',
    accountNumber: String(1_459_151_022 + n * 7_919),
    // Every other one, as not each bank has something to say here.
    ...(n % 2 === 0 && { reference: `branch-${BRANCHES[(n / 2) % BRANCHES.length]}` }),
  };
});
