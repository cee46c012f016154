// SPDX-License-Identifier: MIT
import Foundation

/// A measured server that serves the origin's paths.
struct Peer {
  let name: String
  let port: Int
  let child: Child

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// CPU seconds that its processes have used so far.
  var seconds: Double { CPUTime.seconds(ofTree: child.identifier) }

  func stop() { child.stop() }
}

extension Peer {
  /// Starts nginx over a folder of files, with a freshness of a day: the origin, and the lower
  /// bound for every cache.
  ///
  /// - Parameters:
  ///   - log: the file for a line per request: the path, and the body bytes sent.
  ///   - rate: the bytes per second of a response; nil: as fast as its client takes them.
  static func nginx(
    serving files: URL, in directory: URL, log: URL? = nil, rate: Int? = nil
  ) throws -> Peer {
    try nginx(named: "nginx, static file", in: directory, port: Port.free()) { port in
      """
      log_format sent "$uri $body_bytes_sent $http_range $request_time";
      server {
        listen 127.0.0.1:\(port); root "\(files.path)"; expires 1d;
        \(log.map { "access_log \"\($0.path)\" sent;" } ?? "")
        \(rate.map { "limit_rate \($0);" } ?? "")
      }
      """
    }
  }

  /// Starts nginx as a cache of slices, configured as fairly as we know how: `tcp_nopush on` alone
  /// would cost a small range 44 ms.
  ///
  /// - Parameter isLogged: whether it writes a line for each request to a file.
  static func nginx(
    cachingFrom origin: String, in directory: URL, isLogged: Bool = false
  ) throws -> Peer {
    try nginx(named: "nginx, slice 1m", in: directory, port: Port.free()) { port in
      """
      proxy_cache_path "\(directory.path)/cache" levels=1:2 keys_zone=z:10m max_size=4g
        use_temp_path=off;
      upstream o { server \(origin.dropFirst("http://".count)); keepalive 32; }
      server {
        listen 127.0.0.1:\(port);
        \(isLogged ? "access_log \"\(directory.path)/log\" combined;" : "")
        location / {
          slice 1m; proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_set_header Range $slice_range; proxy_cache z;
          proxy_cache_key $uri$is_args$args$slice_range; proxy_cache_valid 200 206 1h;
          proxy_cache_lock on; proxy_cache_revalidate on;
        }
      }
      """
    }
  }

  private static func nginx(
    named name: String, in directory: URL, port: Int, _ servers: (Int) -> String
  ) throws -> Peer {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let path = directory.path
    let configuration = """
      \(geteuid() == 0 ? "user root;" : "")
      daemon off; worker_processes 1; worker_rlimit_nofile 16384; pid "\(path)/pid"; error_log "\(path)/errors" error;
      events { worker_connections 8192; }
      http {
        sendfile on; tcp_nopush off; access_log off; keepalive_requests 1000000000;
        client_body_temp_path "\(path)/body"; proxy_temp_path "\(path)/proxy";
        fastcgi_temp_path "\(path)/fastcgi"; uwsgi_temp_path "\(path)/uwsgi";
        scgi_temp_path "\(path)/scgi";
        \(servers(port))
      }
      """
    let file = directory.appending(path: "nginx.conf")
    try Data(configuration.utf8).write(to: file)
    let child = try Child("nginx", ["-p", path, "-c", file.path, "-e", path + "/errors"])
    try Port.waitUntilListening(port)
    return Peer(name: name, port: port, child: child)
  }

  /// Starts `refrain serve` of the measured program.
  ///
  /// - Parameters:
  ///   - origin: the server whose paths it serves; nil for URLs of any server.
  ///   - isLogged: whether it writes a line for each request to a file.
  static func refrain(
    cachingFrom origin: String?, in directory: URL, isLogged: Bool = false
  ) throws -> Peer {
    let program = Program.refrain
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw Failure("\(program) is not built (swift build -c release --product refrain)")
    }
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let log = isLogged ? directory.appending(path: "log") : nil
    let child = try Child(
      program,
      ["serve", "--listen", "127.0.0.1:0"] + (origin.map { ["--origin", $0] } ?? [])
        + (isLogged ? [] : ["--quiet"])
        + ["--cache", directory.appending(path: "cache").path],
      log: log)
    do {
      let line = try log.map { try firstLine(of: $0) } ?? child.line()
      guard let port = URL(string: line)?.port else {
        throw Failure("refrain serve said: \(line)")
      }
      return Peer(name: "refrain serve", port: port, child: child)
    } catch {
      child.stop()
      throw error
    }
  }

  /// Waits for the first line of a file, and returns it.
  private static func firstLine(of file: URL) throws -> String {
    for _ in 0..<1000 {
      let text = try String(contentsOf: file, encoding: .utf8)
      if let end = text.firstIndex(of: "\n") { return String(text[..<end]) }
      usleep(10_000)
    }
    throw Failure("\(file.lastPathComponent) stays empty")
  }
}
