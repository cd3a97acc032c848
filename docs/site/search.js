/* The search: all words of a query, in the whole text of every section. Whole
 * words come before their beginnings, and these before their insides. */
"use strict";
(function () {
    var html = document.documentElement;
    var input = document.getElementById("search");
    var found = document.getElementById("found");
    var count = document.getElementById("found-count");
    var chosen = -1;
    var loading;

    /* The index is a script, so that it can be read from file:// as well. For
     * each page it has [address, title, [[anchor, heading, text], …]]. */
    function load_index() {
        loading = loading || new Promise(function (resolve, reject) {
            var script = document.createElement("script");
            script.src = input.dataset.index;
            script.onload = function () { resolve(read(window.course_index)); };
            script.onerror = reject;
            document.head.append(script);
        });
        return loading;
    }

    /* What somebody may ask, and what the pages call it. */
    var SAME = {
        install: "setup", installation: "setup", installing: "setup",
        requirements: "prerequisite"
    };
    var SMALL = new Set(("a an and are can do does for how i in is it my of " +
        "on or the to what when which why with").split(" "));

    /* The words and numbers of a text: 2,048 is 2048, v6_scatter are two. */
    function words_of(text) {
        return text.toLowerCase().replace(/(\d),(?=\d{3}(?!\d))/g, "$1")
            .match(/\d+\.\d+|[\p{L}\p{N}]+/gu) || [];
    }

    /* The words that say something, between blanks. */
    function phrase_of(text) {
        return " " + words_of(text).filter(function (word) {
            return !SMALL.has(word);
        }).join(" ") + " ";
    }

    /* adds, adding and added are forms of add. */
    function stem(word) {
        if (word.length < 5 || /\d/.test(word))
            return word.replace(/([^s])s$/, "$1");
        return word.replace(/(ations?|ings?|ers?|ed|es|s|e)$/, "");
    }

    /* --- the index: which sections have a word, how often, where --- */

    var HEADING = 6, TITLE = 3;
    var sections, places, stems;

    function read(pages) {
        sections = [];
        places = new Map(); /* word -> Map of section -> weight */
        stems = new Map();  /* word -> its stem */
        function put(words, section, weight, most) {
            words.forEach(function (word) {
                if (!places.has(word)) {
                    places.set(word, new Map());
                    stems.set(word, stem(word));
                }
                var at = places.get(word), old = at.get(section) || 0;
                at.set(section, old + (old < most ? weight : 0));
            });
        }
        pages.forEach(function (page) {
            var is_file = /\.(c|cu|h)\.html$/.test(page[0]);
            page[2].forEach(function (part) {
                var number = sections.length;
                var heading = words_of(part[1]), title = words_of(page[1]);
                var text = words_of(part[2]);
                sections.push({
                    address: page[0] + (part[0] ? "#" + part[0] : ""),
                    page: page[1], heading: part[1], text: part[2],
                    rank: is_file ? 0.6 : part === page[2][0] ? 1.5 : 1,
                    names: part[1].split(/[,:]/).map(phrase_of),
                    in_heading: phrase_of(part[1]),
                    in_text: phrase_of(part[2])
                });
                put(text, number, 0.5, 2);
                if (!is_file)
                    put(Array.from(new Set(title)), number, TITLE, Infinity);
                put(Array.from(new Set(heading)), number, HEADING, Infinity);
            });
        });
    }

    /* How near a word of the index is to one of a query; 0: it is another. */
    function nearness(word, term, root) {
        if (word === term) return 1;
        if (stems.get(word) === root) return 0.7;
        if (/^[\d.]+$/.test(term)) return 0;
        if (word.startsWith(term)) return 0.3;
        return term.length > 3 || /[^\x00-\x7f]/.test(term) ?
            word.includes(term) ? 0.05 : 0 : 0;
    }

    /* The sections that have a term, with a weight: a rare one says more. */
    function weigh(term) {
        var best = new Map();
        [[term, 1], [SAME[term], 0.8]].forEach(function (form) {
            if (!form[0]) return;
            var root = stem(form[0]);
            places.forEach(function (at, word) {
                var near = nearness(word, form[0], root) * form[1];
                if (near === 0) return;
                at.forEach(function (weight, section) {
                    best.set(section,
                        Math.max(best.get(section) || 0, near * weight));
                });
            });
        });
        var rare = Math.log(1 + sections.length / (1 + best.size));
        best.forEach(function (weight, section) {
            best.set(section, weight * rare);
        });
        return best;
    }

    /* The sections with all the terms, the best first. Where there is none,
     * those with most of them, if that is a half or more. */
    function find(query) {
        var all = words_of(query);
        var terms = all.filter(function (term) { return !SMALL.has(term); });
        if (terms.length === 0) terms = all;
        var phrase = " " + terms.join(" ") + " ";
        var weights = Array.from(new Set(terms)).map(weigh);
        var hits = [], most = 0;
        sections.forEach(function (section, number) {
            var has = 0, sum = 0;
            weights.forEach(function (best) {
                if (!best.has(number)) return;
                has++;
                sum += best.get(number);
            });
            if (has === 0) return;
            if (section.in_heading.includes(phrase))
                sum *= section.names.includes(phrase) ? 12 : 2;
            else if (terms.length > 1 && section.in_text.includes(phrase))
                sum *= /_/.test(query) ? 6 : 2; /* a name, or a phrase */
            sum *= section.rank;
            most = Math.max(most, has);
            hits.push({ section: section, has: has, score: sum });
        });
        return hits.filter(function (hit) {
            return hit.has === most && hit.has * 2 >= weights.length;
        }).sort(function (a, b) { return b.score - a.score; }).slice(0, 12);
    }

    /* --- a hit --- */

    /* Where the terms stand in a text, whole words first: [from, to] each. */
    function spots(text, terms) {
        function all(make) {
            var out = [];
            terms.forEach(function (term) {
                var word = /^\d+$/.test(term) ?
                    term.replace(/\d(?=(\d{3})+$)/g, "$&,?") :
                    term.replace(/\./g, "\\.");
                for (var hit of text.matchAll(new RegExp(make(word), "giu")))
                    out.push([hit.index, hit.index + hit[0].length]);
            });
            return out.sort(function (a, b) {
                return a[0] - b[0] || b[1] - a[1];
            });
        }
        var out = all(function (word) {
            return "(?<![\\p{L}\\p{N}])" + word + "(?![\\p{L}\\p{N}])";
        });
        if (out.length === 0) out = all(function (word) {
            return "(?<![\\p{L}\\p{N}])" + word;
        });
        return out.length > 0 ? out : all(function (word) { return word; });
    }

    /* Appends text to an element with the words marked. */
    function append_marked(element, text, terms) {
        var at = 0;
        spots(text, terms).forEach(function (spot) {
            if (spot[0] < at) return;
            var mark = document.createElement("mark");
            mark.textContent = text.slice(spot[0], spot[1]);
            element.append(text.slice(at, spot[0]), mark);
            at = spot[1];
        });
        element.append(text.slice(at));
    }

    /* The 150 letters that have most of the words. */
    function excerpt(text, terms) {
        var found = spots(text, terms), from = 0, most = 0;
        found.forEach(function (spot) {
            var kinds = new Set(found.filter(function (other) {
                return other[0] >= spot[0] && other[1] < spot[0] + 100;
            }).map(function (other) {
                return text.slice(other[0], other[1]).toLowerCase();
            })).size;
            if (kinds > most) {
                most = kinds;
                from = Math.max(0, spot[0] - 50);
            }
        });
        if (from > 0) from = text.indexOf(" ", from) + 1;
        return (from > 0 ? "… " : "") + text.slice(from, from + 150) +
            (from + 150 < text.length ? " …" : "");
    }

    /* The terms to mark, with the words that the pages have for them. */
    function marked_of(query) {
        var terms = words_of(query).filter(function (term) {
            return !SMALL.has(term);
        });
        terms.slice().forEach(function (term) {
            var root = stem(term);
            if (SAME[term]) terms.push(SAME[term]);
            stems.forEach(function (other, word) {
                if (other === root && word !== term) terms.push(word);
            });
        });
        return terms;
    }

    function make_option(row, number, terms) {
        var option = document.createElement("a");
        var heading = document.createElement("b");
        var text = document.createElement("small");
        option.href = html.dataset.root + row.address;
        option.id = "found-" + number;
        option.tabIndex = -1;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        append_marked(heading, row.heading === row.page ? row.page :
            row.page + " › " + row.heading, terms);
        append_marked(text, excerpt(row.text, terms), terms);
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

    function show_results(query) {
        var terms = marked_of(query), hits = find(query);
        if (hits.length === 0) {
            show_message(input.dataset.none + " “" + query + "”");
            return;
        }
        found.replaceChildren.apply(found, hits.map(function (hit, number) {
            return make_option(hit.section, number, terms);
        }));
        count.textContent = hits.length + ": " + hits[0].section.heading;
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
        load_index().then(function () {
            if (input.value.trim() === query) show_results(query);
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
})();
