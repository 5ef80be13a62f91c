"""The words WhatsApp itself writes into exported chats, per language, as data.

They differ between app versions. A note that is not listed stays in the text as if it had been
said, so a gap here loses nothing. Compared in lower case, without marks and final stops.
"""

from __future__ import annotations

__all__ = [
    "ADMINS",
    "ATTACHED",
    "CONNECTORS",
    "DELETED",
    "EDITED",
    "ENCRYPTED",
    "FILE_ATTACHED",
    "HALVES",
    "OMITTED",
]

DELETED = (
    *("this message was deleted", "you deleted this message"),
    *("diese nachricht wurde gelöscht", "du hast diese nachricht gelöscht"),
    *("ce message a été supprimé", "vous avez supprimé ce message"),
    *("este mensaje fue eliminado", "se eliminó este mensaje", "eliminaste este mensaje"),
    *("mensagem apagada", "esta mensagem foi apagada", "essa mensagem foi apagada"),
    *("você apagou esta mensagem", "apagou esta mensagem"),
    *("questo messaggio è stato eliminato", "hai eliminato questo messaggio"),
    *("dit bericht is verwijderd", "je hebt dit bericht verwijderd"),
    *("tämä viesti poistettiin", "poistit tämän viestin"),
    *("det här meddelandet har raderats", "du raderade det här meddelandet"),
    *("denne meldingen ble slettet", "denne besked blev slettet"),
    *("ta wiadomość została usunięta", "usunięto tę wiadomość"),
    *("bu mesaj silindi", "bu mesajı sildiniz"),
    *("данное сообщение удалено", "вы удалили данное сообщение", "это сообщение удалено"),
)
"""A deleted message. Where an administrator deleted it, one of `ADMINS` follows with a name."""

ADMINS = ("admin", "amministratore", "beheerder", "ylläpitäjä", "yönetici", "администратор")
"""Beginnings of the word for a group's administrator."""

OMITTED = frozenset(
    {
        *("<media omitted>", "<medien ausgeschlossen>", "<médias omis>", "<multimedia omitido>"),
        *("<archivo omitido>", "<mídia oculta>", "<arquivo de mídia oculto>"),
        *("<ficheiro não revelado>", "<media omessi>", "<media weggelaten>"),
        *("<media jätettiin pois>", "<media jätetty pois>", "<media har utelämnats>"),
        *("<media utelämnat>", "<media utelatt>", "<medier udeladt>", "<pominięto multimedia>"),
        *("<pliki multimedialne pominięto>", "<medya dahil edilmedi>", "<без медиафайлов>"),
        *("image omitted", "video omitted", "audio omitted", "sticker omitted", "gif omitted"),
        *("document omitted", "contact card omitted", "video note omitted"),
        *("bild weggelassen", "video weggelassen", "audio weggelassen", "sticker weggelassen"),
        *("gif weggelassen", "dokument weggelassen", "kontaktkarte ausgelassen"),
        *("image absente", "vidéo absente", "audio omis", "sticker omis", "gif retiré"),
        *("document manquant", "imagen omitida", "video omitido", "audio omitido"),
        *("sticker omitido", "gif omitido", "documento omitido", "imagem ocultada"),
        *("vídeo omitido", "áudio ocultado", "figurinha omitida", "immagine omessa"),
        *("video omesso", "audio omesso", "sticker non incluso", "gif esclusa"),
        *("documento omesso", "afbeelding weggelaten", "video weggelaten", "audio weggelaten"),
        *("sticker weggelaten", "gif weggelaten", "document weggelaten"),
        *("kuva jätetty pois", "video jätetty pois", "ääni jätetty pois"),
        *("bild utelämnad", "video utelämnad", "ljud utelämnat"),
    }
)
"""A picture, video, voice message or document that was not exported."""

FILE_ATTACHED = (
    *("file attached", "datei angehängt", "fichier joint", "archivo adjunto"),
    *("arquivo anexado", "ficheiro anexado", "file allegato", "bestand bijgevoegd"),
    *("tiedosto liitetty", "bifogad fil", "fil vedlagt", "fil vedhæftet", "załączono plik"),
    *("dosya ekli", "файл добавлен"),
)
"""Android: "NAME (file attached)", with the caption on the next lines."""

ATTACHED = (
    *("attached", "anhang", "pièce jointe", "adjunto", "anexado", "anexo", "allegato"),
    *("bijgevoegd", "liite", "liitetty", "bifogad", "vedlagt", "vedhæftet", "załączono"),
    *("ekli", "ek", "прикреплено"),
)
"""iOS: "<attached: NAME>"."""

EDITED = (
    *("this message was edited", "diese nachricht wurde bearbeitet"),
    *("ce message a été modifié", "se editó este mensaje", "mensagem editada"),
    *("questo messaggio è stato modificato", "dit bericht is bewerkt"),
    *("tätä viestiä muokattiin", "det här meddelandet redigerades"),
    *("wiadomość edytowana", "bu mesaj düzenlendi", "данное сообщение изменено"),
)
"""In angle brackets at the end of an edited message."""

ENCRYPTED = (
    *("end-to-end encrypted", "now secured with end-to-end encryption"),
    *("ende-zu-ende-verschlüsselt", "chiffrés de bout en bout", "cifrados de extremo a extremo"),
    *("cifradas de extremo a extremo", "criptografia de ponta a ponta"),
    *("encriptadas ponto a ponto", "crittografati end-to-end", "crittografia end-to-end"),
    *("end-to-end versleuteld", "täysin salattuja", "totalsträckskrypterade"),
    *("szyfrowane w pełni", "uçtan uca şifreli", "сквозным шифрованием"),
)
"""Within the notice at the beginning of every chat."""

HALVES = {
    **dict.fromkeys(("am", "a.m.", "a. m.", "a.m", "上午", "오전", "午前", "ص", "πμ", "π.μ."), 0),
    **dict.fromkeys(("pm", "p.m.", "p. m.", "p.m", "下午", "오후", "午後", "م", "μμ", "μ.μ."), 12),
}
"""Halves of the day in 12-hour times, before or after them: hours to add."""

CONNECTORS = ("klo", "kl.", "kl", "às", "um", "à", "at", "o", "alle", "u.")
"""Words between date and time."""
