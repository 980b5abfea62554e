"""The text that the tiny tokenizers are trained on, written for this project."""

SENTENCES = """
A large red circle on a blue background, at the left.
A small yellow star in the center of a black picture.
The painter mixes white and green until the meadow looks wet.
An old lighthouse stands above the harbour, and its lamp turns slowly.
Two cats don't agree about the warm chair; it's the dog's chair anyway.
We've seen 12 boats, 345 gulls and 6789 waves before 10:30 this morning.
They're painting the bridge again, and I'm told they'll finish on Monday.
A photograph of a mountain lake at sunrise, soft light, high detail, 35mm film.
An oil painting of a quiet street after the rain, reflections, warm lamps.
The robot holds a paper umbrella & a cup of tea <hot> in its left hand.
A watercolour map of an island that nobody has visited yet.
Portrait of a clockmaker, brass gears, candle light, highly detailed face.
A fox sleeps between the roots of an enormous tree in the snow.
Isometric drawing of a tiny library with round windows and a blue door.
Sharp focus, wide angle, dramatic clouds over a field of sunflowers.
She'd rather walk; he'd take the train; who's right isn't clear.
Le chat dort près de la fenêtre pendant que la forêt se réveille.
Une étoile brille au-dessus de l'église, très loin du château.
Où est passé le garçon qui dessinait des bateaux à l'école ?
Der große Bär läuft über die Straße und sucht süße Äpfel.
Im Zimmer liegt ein grünes Heft, daneben steht eine weiße Blume.
Schöne Grüße aus München, die Vögel singen früh am Morgen.
El niño dibuja un corazón rojo sobre una montaña pequeña.
¿Dónde está la canción que cantaba mi abuela en el jardín?
O avião azul voa sobre o mar e a lua não dorme.
La luna è già sopra la città, perché il sole è stanco.
Een kleine jongen tekent een huis met een geel dak en een blauwe deur.
Żółta łódka płynie po jeziorze, a dzieci śpiewają wesołą pieśń.
Příliš žluťoučký kůň stojí u řeky a kouká na měsíc.
A kék ég alatt őszi szőlő érik, és hűvös szél fúj.
İstanbul'da ılık bir akşam, güneş yavaşça denize iniyor.
Det røde huset står ved sjøen, og en hvit båt ligger på land.
Pieni punainen talo seisoo järven rannalla, ja järvi on tyyni.
Красная лодка плывёт по тихой реке мимо старого дома.
На столе лежит жёлтое яблоко и стоит белая чашка.
Над синім морем летять білі птахи, а сонце сідає.
Ένα μικρό κόκκινο σπίτι δίπλα στη θάλασσα, ο ουρανός είναι γαλάζιος.
ציור של ירח מעל הים ובית קטן עם דלת כחולה.
قمر كبير فوق البحر وبيت صغير له باب أزرق.
एक लाल नाव नदी पर धीरे धीरे चल रही है।
สีแดงบนพื้นหลังสีน้ำเงิน มีดาวอยู่ตรงกลาง
青い空の下で、小さな赤い家が静かに立っています。
月が海の上に出て、猫は窓のそばで眠る。
一只红色的小船在安静的河上慢慢地走。
月亮在海上，房子的门是蓝色的。
푸른 하늘 아래 작은 빨간 집이 조용히 서 있다.
Một con mèo nhỏ ngủ cạnh cửa sổ, trời xanh và gió nhẹ.
Ngôi nhà đỏ nằm bên bờ hồ, buổi sáng yên tĩnh.
Hið rauða hús stendur við sjóinn, þar er ljós í glugga.
Sarkanā laiva peld pa upi, bet kaķis guļ mājā.
Raudona valtis plaukia upe, o šuo žiūri į žuvį.
Casa mică și roșie stă lângă apă; țara e verde.
""".strip().split("\n")

COLOURS = ["red", "green", "blue", "yellow", "purple", "orange", "white", "black"]
SHAPES = ["circle", "square", "triangle", "star", "cross", "ring"]
PLACES = ["in the center", "at the left", "at the right", "at the top", "at the bottom"]


def sentences(first=0, last=None):
  """The training sentences: a part of the texts above, three times, then generated captions."""
  captions = []
  for i, shape in enumerate(SHAPES):
    for j, colour in enumerate(COLOURS):
      ground = COLOURS[(i + j + 1) % len(COLOURS)]
      size = "large" if (i + j) % 2 else "small"
      captions.append(f"a {size} {colour} {shape} on a {ground} background, {PLACES[(i * 3 + j) % 5]}")
  return SENTENCES[first:last] * 3 + captions
