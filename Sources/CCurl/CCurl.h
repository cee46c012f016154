// SPDX-License-Identifier: MIT
// The system's libcurl. Swift cannot call functions with a variable number of arguments: there is one
// here for each type of option instead. Which type an option wants is in curl_easy_setopt(3).
#include <curl/curl.h>
#include <netdb.h>
#include <netinet/in.h>

// curl_global_init(3) may be called from any thread since then.
#if LIBCURL_VERSION_NUM < 0x075400
#error "Refrain needs libcurl 7.84 or newer."
#endif

// Of one name in Swift, which chooses by the type of the value.
#define REFRAIN_SET __attribute__((swift_name("curlSet(_:_:_:)")))

REFRAIN_SET static inline CURLcode refrain_curl_set_long(
    CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

// The text is copied.
REFRAIN_SET static inline CURLcode refrain_curl_set_text(
    CURL *handle, CURLoption option, const char *text) {
  return curl_easy_setopt(handle, option, text);
}

// The list has to live as long as the handle uses it.
REFRAIN_SET static inline CURLcode refrain_curl_set_list(
    CURL *handle, CURLoption option, struct curl_slist *list) {
  return curl_easy_setopt(handle, option, list);
}

REFRAIN_SET static inline CURLcode refrain_curl_set_pointer(
    CURL *handle, CURLoption option, void *pointer) {
  return curl_easy_setopt(handle, option, pointer);
}

// For CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION, which are all of this type.
REFRAIN_SET static inline CURLcode refrain_curl_set_data_callback(
    CURL *handle, CURLoption option, curl_write_callback callback) {
  return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode refrain_curl_set_socket_opener(
    CURL *handle, curl_opensocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode refrain_curl_set_socket_closer(
    CURL *handle, curl_closesocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode refrain_curl_set_connected_callback(
    CURL *handle, curl_prereq_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

// The port of a connection on this side, which is at the same place for both versions of IP; -1 if unknown.
static inline int refrain_curl_local_port(curl_socket_t socket) {
  struct sockaddr_in6 address = {0};
  socklen_t length = sizeof address;
  return getsockname(socket, (struct sockaddr *)&address, &length) ? -1 : ntohs(address.sin6_port);
}

// The address as text, until the thread calls this again; empty if it has none.
static inline const char *refrain_curl_address(const struct curl_sockaddr *address) {
  static _Thread_local char text[NI_MAXHOST];
  text[0] = 0;
  getnameinfo(&address->addr, address->addrlen, text, NI_MAXHOST, NULL, 0, NI_NUMERICHOST);
  return text;
}

static inline long refrain_curl_get_long(CURL *handle, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(handle, info, &value);
  return value;
}

// CURLINFO_PRIVATE.
static inline void *refrain_curl_get_private(CURL *handle) {
  char *pointer = NULL;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &pointer);
  return pointer;
}

static inline CURLMcode refrain_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode refrain_curl_multi_set_socket_callback(
    CURLM *multi, void *context, curl_socket_callback callback) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

static inline CURLMcode refrain_curl_multi_set_timer_callback(
    CURLM *multi, void *context, curl_multi_timer_callback callback) {
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

static inline CURLSHcode refrain_curl_share(CURLSH *share, curl_lock_data data) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

// The easy handle of a message, and what its transfer ended in: a union, which Swift does not show.
static inline CURLcode refrain_curl_result(const CURLMsg *message) { return message->data.result; }

// For CURLOPT_HTTPAUTH; Swift does not see a macro with a cast.
static const long refrain_curl_digest = (long)CURLAUTH_DIGEST;

// Ends the wait for a name's address with the transfer, at once (7.87).
static inline void refrain_curl_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#endif
}
