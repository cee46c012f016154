// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// A network proxy for requests.
  struct CurlProxy: Sendable, Hashable {
    /// In libcurl's form: `http://user:password@host:3128`, `socks5://…`; http without a scheme.
    let url: String

    /// The name for messages, without its password.
    var name: String {
      let authority = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
      let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
      return String((host ?? authority).prefix { $0 != "/" })
    }

    /// Whether the proxy receives HTTP requests, rather than connection requests (SOCKS).
    var speaksHTTP: Bool { !url.lowercased().hasPrefix("socks") }
  }

  /// The proxies that the environment names, and their exceptions: `http_proxy`, `https_proxy`,
  /// `all_proxy`, `no_proxy`. A pure value.
  ///
  /// `HTTP_PROXY` in capitals is ignored: in a CGI script it is the client's `Proxy:` header.
  /// Requests to this machine (`localhost`, `127.0.0.0/8`, `::1`) never use a proxy.
  struct ProxyEnvironment: Sendable, Hashable {
    private var byScheme: [String: String] = [:]
    private var other: String?
    private var exceptions: [String] = []

    init(_ environment: [String: String]) {
      func first(_ names: String...) -> String? {
        names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
      }
      byScheme["http"] = first("http_proxy")
      byScheme["https"] = first("https_proxy", "HTTPS_PROXY")
      other = first("all_proxy", "ALL_PROXY")
      exceptions = (first("no_proxy", "NO_PROXY") ?? "").lowercased()
        .split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    func proxy(for url: URL) -> CurlProxy? {
      guard let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(),
        let proxy = byScheme[scheme] ?? other
      else { return nil }
      let name = host.hasSuffix(".") ? String(host.dropLast()) : host
      guard !NetworkAddress.isLoopback(host: name), !name.hasSuffix(".localhost") else {
        return nil
      }
      let port = url.port ?? (scheme == "https" ? 443 : 80)
      guard !exceptions.contains(where: { Self.exception($0, names: name, port) }) else {
        return nil
      }
      return CurlProxy(url: proxy)
    }

    /// - Parameter text: an entry of `no_proxy`: a name, which includes its subdomains; an address, or
    ///   a range of them such as `10.0.0.0/8`; `*` for all. With a port, for that port alone.
    private static func exception(_ text: String, names host: String, _ port: Int) -> Bool {
      var name = text[...]
      // Two or more colons are an IPv6 address, unless it is in brackets.
      if let colon = name.lastIndex(of: ":"),
        name.hasPrefix("[") ? name[..<colon].hasSuffix("]") : name.firstIndex(of: ":") == colon,
        let number = Int(name[name.index(after: colon)...])
      {
        guard number == port else { return false }
        name = name[..<colon]
      }
      let parts = name.split(separator: "/", maxSplits: 1)
      if let network = parts.first.flatMap({ NetworkAddress(host: $0) }),
        let address = NetworkAddress(host: host)
      {
        let bits = parts.count == 2 ? Int(parts[1]) ?? -1 : network.bytes.count * 8
        return address.begins(with: network, bits: bits)
      }
      while name.hasPrefix(".") || name.hasPrefix("*.") {
        name = name.dropFirst(name.hasPrefix(".") ? 1 : 2)
      }
      return name == "*" || (!name.isEmpty && (host == name || host.hasSuffix("." + name)))
    }
  }
#endif
