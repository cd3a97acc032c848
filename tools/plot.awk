# Draws plots as SVG. A library, which comes after tools/csv.awk: first series()
# and point(), then draw_axis() for "x" and "y", mark() for whatever else the plot
# needs, and print_plot().
#
# A series has a look (1 to 5: colour, shape and dash), and is drawn as "line",
# "points", "both" or "rings". One that gets no point is left out.
#
# It computes with what every awk has (busybox may lack log and ^), so that
# every awk draws the same, to the byte.

BEGIN {
    WIDTH = 560
    HEIGHT = 440
    size = 19 # of all text, in pixels: 11 where the plot is 328 wide
    begin["x"] = 92
    end["x"] = 546
    begin["y"] = 372
    end["y"] = 76 # below two rows of names
    split("#0072b2 #007d5a #666666 #c04a00 #a04a90", LIGHT, " ")
    split("#56b4e9 #2fbf94 #aaaaaa #ff9a52 #d98ac4", DARK, " ")
    split("none,12 5,2 4,12 4 2 4,6 3", DASH, ",")
    SHAPE[2] = "M-5.5-5.5h11v11h-11z"
    SHAPE[3] = "M-8.5-4.5h17L0 8.5z"
    SHAPE[4] = "M-9 5H9L0-9z"
    SHAPE[5] = "M-9.5 0L0-9.5 9.5 0 0 9.5z"
}

# --- arithmetic ---

function floor(x) { return x < int(x) ? int(x) - 1 : int(x) }

# A number to the power of a whole one.
function power(base, e,    p) {
    for (p = 1; e > 0; e--) p *= base
    for (; e < 0; e++) p /= base
    return p
}

# By ln(x) = 2 (y + y^3 / 3 + y^5 / 5 + …), y = (x - 1) / (x + 1).
function log2(x,    e, y, term, sum, k) {
    for (; x >= 2; e++) x /= 2
    for (; x < 1; e--) x *= 2
    term = y = (x - 1) / (x + 1)
    for (k = 1; k < 40; k += 2) {
        sum += term / k
        term *= y * y
    }
    return e + sum * 2.8853900817779268 # 2 / ln 2
}

function log10(x) { return log2(x) / 3.3219280948873623 }

# A round step that divides 0..most into 3 to 8.
function nice(most,    p) {
    p = power(10, floor(log10(most)))
    if (most / p > 4) return p
    return most / p > 2 ? p / 2 : p / 5
}

function escape(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/"/, "\\&quot;", s)
    return s
}

# --- scales: linear, or logarithmic with a base ---

function scale(axis, new_base, least, most) {
    base[axis] = new_base
    low[axis] = scaled(axis, least)
    high[axis] = scaled(axis, most)
}

function scaled(axis, value) {
    if (!base[axis]) return value
    return base[axis] == 2 ? log2(value) : log10(value)
}

# Where a value is, in pixels.
function at_x(value) { return place("x", value) }
function at_y(value) { return place("y", value) }
function place(axis, value) {
    return begin[axis] + (end[axis] - begin[axis]) * \
        (scaled(axis, value) - low[axis]) / (high[axis] - low[axis])
}

# --- series and their points ---

function series(name, new_look, new_kind) {
    if (!all || points[all]) all++
    name_of[all] = name
    look[all] = new_look
    kind[all] = new_kind == "" ? "both" : new_kind
}

# Kept in the order of x, and of y where x is the same. text is for print_desc.
function point(x, y, text,    i) {
    for (i = ++points[all]; i > 1 && (x < px[all, i - 1] || \
            x == px[all, i - 1] && y < py[all, i - 1]); i--) {
        px[all, i] = px[all, i - 1]
        py[all, i] = py[all, i - 1]
        words[all, i] = words[all, i - 1]
    }
    px[all, i] = x
    py[all, i] = y
    words[all, i] = x ", " y (text == "" ? "" : " " text)
    reach("x", x)
    reach("y", y)
}

function reach(axis, value) {
    if (!(axis in least) || value < least[axis]) least[axis] = value
    if (!(axis in most) || value > most[axis]) most[axis] = value
}

# --- drawing ---

function mark(text) { marks = marks text "\n" }

function text_at(x, y, text, class) {
    return sprintf("<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>", x, y,
                   class == "" ? "" : " class=\"" class "\"", text)
}

# The axis of a range, with a tick at each step (an exponent's, on a
# logarithmic scale). as_power: 2^10 and not 1024.
function draw_axis(name, new_base, from, to, step, label, as_power,    e, value) {
    scale(name, new_base, from, to)
    e = floor(low[name] / step)
    if (e * step < low[name] - 1e-9) e++
    for (; e * step <= high[name] + 1e-9; e++) {
        value = new_base ? power(new_base, e * step) : e * step
        to = place(name, value)
        tick(name, to, as_power ? new_base raised(e * step) : sprintf("%.6g", value / (name in unit ? unit[name] : 1)))
    }
    to = (begin[name] + end[name]) / 2
    if (name == "x")
        mark(text_at(to, HEIGHT - 10, label, "mid"))
    else if (!(e = index(label, "\n")))
        mark(turned(20, to, label))
    else
        mark(turned(18, to, substr(label, 1, e - 1)) \
            turned(40, to, substr(label, e + 1)))
}

# A whole number as an exponent, of the small digits that are letters of their
# own: so all text has one size.
function raised(e,    i, s, digit) {
    split("⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹", digit, " ")
    s = e < 0 ? "⁻" : ""
    e = (e < 0 ? -e : e) ""
    for (i = 1; i <= length(e); i++) s = s digit[substr(e, i, 1) + 1]
    return s
}

function turned(x, y, label) {
    return sprintf("<text transform=\"translate(%.1f %.1f) rotate(-90)\" " \
                   "class=\"mid\">%s</text>", x, y, label)
}

function tick(name, to, label) {
    if (name == "x") {
        grid = grid sprintf("M%.1f %.1fV%.1f", to, begin["y"], end["y"])
        ticks = ticks sprintf("M%.1f %.1fv-7", to, begin["y"])
        mark(text_at(to, begin["y"] + 26, label, "mid"))
    } else {
        grid = grid sprintf("M%.1f %.1fH%.1f", begin["x"], to, end["x"])
        ticks = ticks sprintf("M%.1f %.1fh7", begin["x"], to)
        mark(text_at(begin["x"] - 8, to + 7, label, "end"))
    }
}

function shape(s, x, y) {
    if (kind[s] == "line") return ""
    if (kind[s] == "rings" || look[s] == 1)
        return sprintf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>", x, y,
                       kind[s] == "rings" ? "11" : "5")
    return sprintf("<path d=\"%s\" transform=\"translate(%.1f %.1f)\"/>",
                   SHAPE[look[s]], x, y)
}

function stroke(s, path) {
    if (kind[s] != "line" && kind[s] != "both") return ""
    return "<path class=\"line\" d=\"" path "\"/>"
}

function print_series(s,    i, path, shapes) {
    for (i = 1; i <= points[s]; i++) {
        path = path sprintf("%s%.1f %.1f", i > 1 ? "L" : "M",
                            at_x(px[s, i]), at_y(py[s, i]))
        shapes = shapes shape(s, at_x(px[s, i]), at_y(py[s, i]))
    }
    print group(s) stroke(s, path) shapes "</g>"
}

function group(s) {
    return "<g class=\"s" look[s] (kind[s] == "rings" ? " rings" : "") "\">"
}

# Above the data, one name after another. What an awk takes for the length of
# a name is its bytes or its letters: so none may hang on that.
function print_legend(    s, x, y, name, width) {
    y = 18
    for (s = 1; s <= all; s++) {
        name = name_of[s]
        gsub(/[^ -~]+/, "-", name)
        width = 52 + size * 0.53 * length(name)
        if (x > 0 && x + width > WIDTH) {
            x = 0
            y += 28
        }
        print group(s) stroke(s, sprintf("M%d %dh36", x + 2, y)) \
            shape(s, x + 20, y) "</g>" text_at(x + 46, y + 7, name_of[s])
        x += width + 8
    }
}

# The points in words: all of a short series, the ends of others.
function print_desc(see,    s, i, n, text) {
    print "<desc>" escape(see)
    for (s = 1; s <= all; s++) {
        n = points[s]
        text = words[s, 1]
        if (n > 4)
            text = text " … " words[s, n]
        else
            for (i = 2; i <= n; i++)
                text = text "; " words[s, i]
        print escape(name_of[s] " (x, y; " n " in all): " text ".")
    }
    print "</desc>"
}

function print_style(    i) {
    print "<style>\ntext{font:" size "px system-ui,-apple-system,\"Segoe UI\"," \
        "\"Noto Sans\",sans-serif;fill:#000}\n" \
        ".mid{text-anchor:middle}.end{text-anchor:end}\n" \
        ".line,.rings,.grid,.axes{fill:none;stroke-width:2.5}\n" \
        ".grid{stroke:#ddd;stroke-width:1}.axes{stroke:#000;stroke-width:1.5}"
    for (i = 1; i <= 5; i++)
        printf ".s%d{color:%s}.s%d .line{stroke-dasharray:%s}\n", i, LIGHT[i],
            i, DASH[i]
    print "g{fill:currentColor}.line,.rings{stroke:currentColor}\n" \
        ".band{fill:#666;fill-opacity:.2}\n" \
        "@media (prefers-color-scheme:dark){\ntext{fill:#ddd}" \
        ".axes{stroke:#ddd}.grid{stroke:#3a3a3a}.band{fill:#aaa}"
    for (i = 1; i <= 5; i++)
        print ".s" i "{color:" DARK[i] "}"
    print "}\n</style>"
}

# from: the files that it draws.
function print_plot(title, see, from,    s) {
    if (!points[all]) all--
    print "<!-- make plots, from " from " -->"
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" " \
        "viewBox=\"0 0 %d %d\">\n<title>%s</title>\n", WIDTH, HEIGHT, title
    print_desc(see)
    print_style()
    print "<path class=\"grid\" d=\"" grid "\"/>"
    printf "<path class=\"axes\" d=\"%sM%.1f %.1fV%.1fH%.1f\"/>\n%s", ticks, \
        begin["x"], end["y"], begin["y"], end["x"], marks
    for (s = 1; s <= all; s++) print_series(s)
    print_legend()
    print "</svg>"
}
