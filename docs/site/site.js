/* What the pages do with scripts on: the switch of the theme, the search, and
 * the copy buttons. Without scripts the pages lack these and nothing else. */
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

    /* --- search --- */

    var input = document.getElementById("search");
    var found = document.getElementById("found");
    var count = document.getElementById("found-count");
    var chosen = -1;
    var loading;

    /* The index is a script, so that it can be read from file:// as well. Its
     * rows are [address, page, heading, text]. */
    function load_index() {
        loading = loading || new Promise(function (resolve, reject) {
            var script = document.createElement("script");
            script.src = input.dataset.index;
            script.onload = function () { resolve(window.course_index); };
            script.onerror = reject;
            document.head.append(script);
        });
        return loading;
    }

    /* How well a row has all the words: in the heading, the page's title, at
     * the start of a word of the text, or inside one; 0 if one is missing. */
    function score(row, terms) {
        var heading = row[2].toLowerCase(), title = row[1].toLowerCase();
        var text = " " + row[3].toLowerCase(), sum = 0;
        for (var term of terms) {
            var points = (heading.includes(term) ? 8 : 0) +
                (title.includes(term) ? 3 : 0) +
                (text.includes(" " + term) ? 2 : text.includes(term) ? 1 : 0);
            if (points === 0) return 0;
            sum += points + (heading === term ? 10 : 0);
        }
        return sum;
    }

    /* Appends text to an element with the words marked. */
    function append_marked(element, text, terms) {
        var low = text.toLowerCase(), at = 0;
        while (at < text.length) {
            var next = text.length, length = 0;
            for (var term of terms) {
                var place = low.indexOf(term, at);
                if (place >= 0 && place < next) {
                    next = place;
                    length = term.length;
                }
            }
            element.append(text.slice(at, next));
            if (length > 0) {
                var mark = document.createElement("mark");
                mark.textContent = text.slice(next, next + length);
                element.append(mark);
            }
            at = next + length;
            if (length === 0) break;
        }
    }

    /* From the first 60 words, which are kept as they stand in the page. */
    function excerpt(words, terms) {
        var text = words.split(" ").slice(0, 60).join(" ");
        var places = terms.map(function (term) {
            return text.toLowerCase().indexOf(term);
        }).filter(function (place) { return place >= 0; });
        var from = places.length ? Math.max(0, Math.min.apply(null, places) - 50) : 0;
        if (from > 0) from = text.indexOf(" ", from) + 1;
        return (from > 0 ? "… " : "") + text.slice(from, from + 150) +
            (from + 150 < text.length ? " …" : "");
    }

    function make_option(row, number, terms) {
        var option = document.createElement("a");
        var heading = document.createElement("b");
        var text = document.createElement("small");
        option.href = html.dataset.root + row[0];
        option.id = "found-" + number;
        option.tabIndex = -1;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        append_marked(heading, row[2] === row[1] ? row[1] :
            row[1] + " › " + row[2], terms);
        append_marked(text, excerpt(row[3], terms), terms);
        option.append(heading, text);
        return option;
    }

    function close() {
        found.hidden = true;
        input.setAttribute("aria-expanded", "false");
        input.removeAttribute("aria-activedescendant");
        chosen = -1;
    }

    function show_message(message) {
        var p = document.createElement("p");
        p.textContent = message;
        found.replaceChildren(p);
        p.setAttribute("role", "option");
        p.setAttribute("aria-disabled", "true");
        p.setAttribute("aria-selected", "false");
        count.textContent = message;
        found.hidden = false;
        input.setAttribute("aria-expanded", "true");
    }

    function show_results(rows, query) {
        var terms = query.toLowerCase().split(/\s+/);
        var hits = rows.map(function (row) {
            return { row: row, score: score(row, terms) };
        }).filter(function (hit) {
            return hit.score > 0;
        }).sort(function (a, b) { return b.score - a.score; }).slice(0, 12);
        if (hits.length === 0) {
            show_message(input.dataset.none + " “" + query + "”");
            return;
        }
        found.replaceChildren.apply(found, hits.map(function (hit, number) {
            return make_option(hit.row, number, terms);
        }));
        count.textContent = hits.length + ": " + hits[0].row[2];
        found.hidden = false;
        found.scrollTop = 0;
        chosen = -1;
        input.setAttribute("aria-expanded", "true");
        input.removeAttribute("aria-activedescendant");
    }

    function search() {
        var query = input.value.trim();
        if (query === "") {
            close();
            return;
        }
        load_index().then(function (rows) {
            if (input.value.trim() === query) show_results(rows, query);
        }, function () { show_message(input.dataset.unread); });
    }

    function choose(step) {
        var options = found.querySelectorAll("a");
        if (found.hidden || options.length === 0) return;
        if (chosen >= 0) options[chosen].setAttribute("aria-selected", "false");
        chosen = chosen < 0 && step < 0 ? options.length - 1 :
            (chosen + step + options.length) % options.length;
        options[chosen].setAttribute("aria-selected", "true");
        options[chosen].scrollIntoView({ block: "nearest" });
        input.setAttribute("aria-activedescendant", options[chosen].id);
    }

    input.addEventListener("focus", function () {
        load_index().catch(function () { /* said when a word is asked for */ });
    });
    input.addEventListener("input", search);
    input.addEventListener("keydown", function (event) {
        if (event.key === "ArrowDown") choose(1);
        else if (event.key === "ArrowUp") choose(-1);
        else return;
        event.preventDefault();
    });
    input.form.addEventListener("keydown", function (event) {
        if (event.key !== "Escape") return;
        input.value = "";
        close();
    });
    input.form.addEventListener("submit", function (event) {
        var options = found.querySelectorAll("a");
        event.preventDefault();
        if (!found.hidden && options.length > 0)
            location.href = options[Math.max(chosen, 0)].href;
    });
    found.addEventListener("click", close);
    document.addEventListener("click", function (event) {
        if (!input.form.contains(event.target)) close();
    });
    input.form.addEventListener("focusout", function (event) {
        if (event.relatedTarget && !input.form.contains(event.relatedTarget))
            close();
    });
    document.addEventListener("keydown", function (event) {
        var at = event.target;
        if (event.key !== "/" || event.ctrlKey || event.metaKey ||
            event.altKey || at.isContentEditable ||
            /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
        event.preventDefault();
        input.focus();
        input.select();
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
