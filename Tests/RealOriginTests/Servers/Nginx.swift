// SPDX-License-Identifier: MIT
import Foundation

/// nginx's configuration and its log.
enum Nginx {
  /// Returns a configuration with one process in the foreground, so that a kill ends all of nginx.
  ///
  /// - Parameter certificate: the files of a certificate and of its key; enables TLS.
  static func configuration(
    port: Int, directory: URL, certificate: (file: String, key: String)? = nil
  ) -> String {
    let path = directory.path(percentEncoded: false)
    let files = directory.appending(path: "files/").path(percentEncoded: false)
    return """
      daemon off;
      master_process off;
      pid "\(path)/nginx.pid";
      error_log stderr warn;
      events { worker_connections 256; }
      http {
        log_format counted '$status $body_bytes_sent "$http_range" $uri $http_authorization';
        access_log "\(path)/access.log" counted;
        types { audio/flac flac; audio/wav wav; text/plain txt; }
        default_type application/octet-stream;
        client_body_temp_path "\(path)/nginx";
        proxy_temp_path "\(path)/nginx";
        fastcgi_temp_path "\(path)/nginx";
        uwsgi_temp_path "\(path)/nginx";
        scgi_temp_path "\(path)/nginx";
        server {
          listen 127.0.0.1:\(port)\(certificate == nil ? "" : " ssl");
          \(certificate.map { "ssl_certificate \"\($0.file)\"; ssl_certificate_key \"\($0.key)\";" } ?? "")
          root "\(files)";
          location /slow/ { alias "\(files)"; limit_rate 4m; }
          location /compressed/ {
            alias "\(files)";
            gzip on;
            gzip_types *;
            gzip_min_length 1;
          }
          location ~ ^/first/(.*)$ { return 302 /second/$1; }
          location ~ ^/second/(.*)$ { return 302 http://127.0.0.1:\(port)/$1; }
          location ~ ^/away/(.*)$ { return 302 http://localhost:\(port)/$1; }
        }
      }
      """
  }

  struct LogLine: Sendable {
    var status: Int
    var bodyBytes: Int64
    var range: String
    var path: String
    var authorization: String
  }

  /// Returns the completed requests, in the order in which they ended.
  static func log(in directory: URL) throws -> [LogLine] {
    let text = try String(contentsOf: directory.appending(path: "access.log"), encoding: .utf8)
    // The last line may be incomplete.
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .compactMap { line in
        let fields = line.split(separator: " ", maxSplits: 4).map(String.init)
        guard fields.count == 5, let status = Int(fields[0]), let bytes = Int64(fields[1]) else {
          return nil
        }
        return LogLine(
          status: status, bodyBytes: bytes, range: fields[2], path: fields[3],
          authorization: fields[4])
      }
  }
}
