/* What the pages do with scripts on: the switch of the theme, the copy buttons,
 * and the place of the reader; search.js has the search. Without scripts the
 * pages lack these and nothing else. */
"use strict";
(function () {
    var html = document.documentElement;

    /* --- light or dark --- */

    function is_dark() {
        return html.dataset.theme ? html.dataset.theme === "dark" :
            matchMedia("(prefers-color-scheme: dark)").matches;
    }

    document.querySelector(".theme").addEventListener("click", function () {
        html.dataset.theme = is_dark() ? "light" : "dark";
        try {
            localStorage.setItem("theme", html.dataset.theme);
        } catch (e) { /* it holds for this page */ }
    });

    /* --- code --- */

    var words = document.querySelector("article").dataset;

    function copy_text(text) {
        if (navigator.clipboard) return navigator.clipboard.writeText(text);
        var area = document.createElement("textarea"); /* no secure context */
        var button = document.activeElement;
        area.value = text;
        document.body.append(area);
        area.select();
        var done = document.execCommand("copy");
        area.remove();
        button.focus();
        return done ? Promise.resolve() : Promise.reject(new Error("copy"));
    }

    function add_copy_button(figure) {
        var pre = figure.querySelector("pre");
        var button = document.createElement("button");
        button.className = "copy";
        button.type = "button";
        button.textContent = words.copy;
        button.setAttribute("aria-live", "polite");
        button.addEventListener("click", function () {
            function say(word) {
                button.textContent = word;
                setTimeout(function () { button.textContent = words.copy; }, 2000);
            }
            copy_text(pre.textContent).then(
                function () { say(words.copied); },
                function () { say(words.notCopied); });
        });
        pre.tabIndex = 0;
        figure.querySelector("figcaption").append(button);
    }

    document.querySelectorAll("figure.code").forEach(add_copy_button);

    /* What scrolls by itself can be reached by the keyboard. */
    document.querySelectorAll('math[display="block"]').forEach(function (math) {
        math.setAttribute("tabindex", "0");
    });

    /* --- where the reader is: in the list of pages, and in the page --- */

    var pages = document.getElementById("pages");
    var contents = document.getElementById("contents");
    var links = contents ? Array.from(contents.querySelectorAll("a")) : [];
    var sections = links.map(function (a) { return target_of(a.hash); });
    var marked = -1;

    function target_of(hash) {
        try {
            return document.getElementById(decodeURIComponent(hash.slice(1)));
        } catch (e) { return null; /* a % that stands for nothing */ }
    }

    /* Shows what is marked in a list, without moving the page. */
    function show_marked(list) {
        var a = list.querySelector("[aria-current]");
        if (!a) return;
        var at = a.getBoundingClientRect(), box = list.getBoundingClientRect();
        if (at.top < box.top + 40 || at.bottom > box.bottom - 40)
            list.scrollTop += at.top - box.top - list.clientHeight / 3;
    }

    /* The section at a line below the bar, which sinks to the page's end over
     * the last screen, so that each has its turn. At the end it is the one that
     * was asked for, where that is seen. */
    function mark_section() {
        var rest = html.scrollHeight - scrollY - innerHeight;
        var line = Math.max(120, innerHeight - rest), now = -1;
        for (var i = 0; i < sections.length; i++) {
            var top = sections[i].getBoundingClientRect().top;
            if (top <= line) now = i;
            if (rest < 2 && top > 0 && links[i].hash === location.hash) break;
        }
        if (now === marked) return;
        if (marked >= 0) links[marked].removeAttribute("aria-current");
        if (now >= 0) links[now].setAttribute("aria-current", "location");
        marked = now;
        show_marked(contents);
    }

    /* A link into something folded unfolds it. */
    function unfold() {
        var target = target_of(location.hash);
        if (!target || !target.closest("details:not([open])")) return;
        for (var at = target; at; at = at.parentElement)
            if (at.tagName === "DETAILS") at.open = true;
        target.scrollIntoView();
    }

    unfold();
    addEventListener("hashchange", unfold);
    show_marked(pages);
    pages.addEventListener("toggle", function () { show_marked(pages); });
    if (links.length > 0) {
        mark_section();
        addEventListener("scroll", mark_section, { passive: true });
        addEventListener("resize", mark_section);
        addEventListener("hashchange", mark_section);
        contents.addEventListener("toggle", function () {
            show_marked(contents);
        });
    }

    /* A link of the list closes it where it is a popover. */
    links.forEach(function (a) {
        a.addEventListener("click", function () {
            if (contents.matches(":popover-open")) contents.hidePopover();
        });
    });
})();
