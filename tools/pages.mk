# The pages: what they quote, their plots, and the site. The Makefile includes
# this.

.PHONY: docs serve site-archive quote plots

## docs         render the pages as HTML: open build/site/index.html
docs:
	@sh tools/site.sh

## serve        the same, at http://localhost:8000/
PORT ?= 8000
serve: docs
	@command -v python3 > /dev/null || \
	    { echo 'python3 is missing: open build/site/index.html' >&2; exit 2; }
	@python3 -c 'import socket; socket.create_server(("127.0.0.1", $(PORT))).close()' 2> /dev/null || \
	    { echo "make serve: port $(PORT) cannot be had; try make serve PORT=8001" >&2; exit 2; }
	@echo "http://localhost:$(PORT)/ (Ctrl-C ends it)"
	@python3 -m http.server --bind 127.0.0.1 --directory build/site $(PORT)

## site-archive the site as one file to hand out: build/half-atomics-site.zip
site-archive:
	@sh tools/site.sh --archive

### quote        refill the code, output and figures that the pages quote
quote:
	@sh tools/quote.sh

### plots        draw docs/plots/ from results/
plots:
	@sh tools/plots.sh
